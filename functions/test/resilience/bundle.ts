import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Variables } from '../../../test/support/programs';
import * as commitSizes from '../../src/price-lists/commit-sizes';

/** Sizes that replace those of commit-sizes.ts in a bundle. */
export type CommitSizes = Partial<Record<keyof typeof commitSizes, number>>;

const replaceSizes = (sizes: CommitSizes): Plugin => ({
  name: 'commit sizes',
  setup: (bundler) => {
    const constants = Object.entries({ ...commitSizes, ...sizes }).map(
      ([name, size]) => `export const ${name} = ${size};`,
    );
    bundler.onLoad({ filter: /\/commit-sizes\.ts$/ }, () => ({ contents: constants.join('\n') }));
  },
});

/** Bundles a program without its packages, so that it starts fast. */
export async function bundleProgram(entryPoint: string, outfile: string, sizes: CommitSizes = {}): Promise<void> {
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    plugins: [replaceSizes(sizes)],
    logLevel: 'error',
  });
}

/** Returns the variables with which a bundle in any folder finds its packages and the Firestore of its test. */
export const getBundleVariables = (): Variables => ({
  NODE_PATH: resolve('node_modules'),
  FIRESTORE_EMULATOR_HOST: process.env['FIRESTORE_EMULATOR_HOST'],
  GCLOUD_PROJECT: process.env['GCLOUD_PROJECT'],
  METADATA_SERVER_DETECTION: 'none',
});
