import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

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

/** The environment in which a bundle finds its packages wherever it lies. */
export const bundleEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_PATH: resolve('node_modules'),
});
