import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Variables } from '../../../test/support/programs';

/** Makes a bundle write this many entries in a batch. */
const replaceBatchSize = (entries: number): Plugin => ({
  name: 'batch size',
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/price-lists\/entries\.ts$/ }, ({ path }) => {
      const code = readFileSync(path, 'utf8').replace(/(MAX_ENTRIES_PER_COMMIT =) \d+/, `$1 ${entries}`);
      return { contents: code, loader: 'ts' };
    });
  },
});

/** Bundles a program, so that it starts fast. Its packages stay outside the bundle. */
export async function bundleProgram(entryPoint: string, outfile: string, batchSize: number): Promise<void> {
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    plugins: [replaceBatchSize(batchSize)],
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
