import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Variables } from '../../../test/support/programs';

/** A source file with other contents than it has. */
export interface SourceReplacement {
  file: string;
  contents: string;
}

const OPTIONS = 'functions/src/lib/runtime-options.ts';

/** The service's options with other numbers, by the names of their constants. */
export function replaceOptions(numbers: Readonly<Record<string, number>>): SourceReplacement {
  let contents = readFileSync(OPTIONS, 'utf8');
  for (const [name, number] of Object.entries(numbers)) {
    const parts = contents.split(new RegExp(`^export const ${name} = [0-9_]+;$`, 'm'));
    if (parts.length !== 2) throw new Error(`${OPTIONS} has no constant ${name}`);
    contents = parts.join(`export const ${name} = ${number};`);
  }
  return { file: OPTIONS, contents };
}

/** Bundles a program of the tests, as the deployed bundle is made, so that it starts as fast; perhaps with one file replaced. */
export async function bundleProgram(entryPoint: string, outfile: string, replaced?: SourceReplacement): Promise<void> {
  const replacing: Plugin = {
    name: 'replaced',
    setup: (bundler) =>
      bundler.onLoad({ filter: /\.ts$/ }, ({ path }) =>
        replaced !== undefined && path === resolve(replaced.file)
          ? { contents: replaced.contents, loader: 'ts' }
          : undefined,
      ),
  };
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    plugins: [replacing],
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
