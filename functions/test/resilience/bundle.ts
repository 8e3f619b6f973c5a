import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Variables } from '../../../test/support/programs';
import type * as runtimeOptions from '../../src/lib/runtime-options';

type Options = typeof runtimeOptions;

/** Numbers that a bundled service has in place of those in runtime-options.ts. */
export type ReplacedNumbers = {
  readonly [Name in keyof Options as Options[Name] extends number ? Name : never]?: number;
};

/** Has the program import a module that exports the options with other numbers, in place of runtime-options.ts. */
const replaceNumbers = (numbers: ReplacedNumbers): Plugin => ({
  name: 'replaced numbers',
  setup: (bundler) => {
    const original = JSON.stringify(resolve('functions/src/lib/runtime-options.ts'));
    const constants = Object.entries(numbers).map(([name, number]) => `export const ${name} = ${number};`);
    const contents = [`export * from ${original};`, ...constants].join('\n');
    bundler.onResolve({ filter: /\/runtime-options$/ }, () => ({ path: 'runtime-options', namespace: 'replaced' }));
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
