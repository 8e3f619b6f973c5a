import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Variables } from '../../../test/support/programs';
import type * as runtimeOptions from '../../src/lib/runtime-options';
import type * as commitSizes from '../../src/price-lists/commit-sizes';

type Options = typeof runtimeOptions & typeof commitSizes;

/** Numbers that a bundled service has in place of those in runtime-options.ts and commit-sizes.ts. */
export type ReplacedNumbers = {
  readonly [Name in keyof Options as Options[Name] extends number ? Name : never]?: number;
};

/** Has the program import one module with other numbers, in place of those that define them. */
const replaceNumbers = (numbers: ReplacedNumbers): Plugin => ({
  name: 'replaced numbers',
  setup: (bundler) => {
    const originals = ['lib/runtime-options.ts', 'price-lists/commit-sizes.ts'].map((file) =>
      resolve('functions/src', file),
    );
    const constants = Object.entries(numbers).map(([name, number]) => `export const ${name} = ${number};`);
    // What a module exports itself comes before what it passes on.
    const contents = [...originals.map((path) => `export * from ${JSON.stringify(path)};`), ...constants].join('\n');
    bundler.onResolve({ filter: /\/(runtime-options|commit-sizes)$/ }, () => ({
      path: 'numbers',
      namespace: 'replaced',
    }));
    bundler.onLoad({ filter: /.*/, namespace: 'replaced' }, () => ({ contents, resolveDir: process.cwd() }));
  },
});

/** Bundles a program of the tests, as the deployed bundle is made, so that it starts as fast; perhaps with other numbers. */
export async function bundleProgram(entryPoint: string, outfile: string, numbers: ReplacedNumbers = {}): Promise<void> {
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    plugins: [replaceNumbers(numbers)],
    logLevel: 'error',
  });
}

/** Variables by which a bundle finds its packages wherever it lies, and the Firestore of its test. */
export const getBundleVariables = (): Variables => ({
  NODE_PATH: resolve('node_modules'),
  FIRESTORE_EMULATOR_HOST: process.env['FIRESTORE_EMULATOR_HOST'],
  GCLOUD_PROJECT: process.env['GCLOUD_PROJECT'],
  METADATA_SERVER_DETECTION: 'none',
});
