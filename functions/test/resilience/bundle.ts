import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

/** A source file with other contents than it has. */
export interface SourceReplacement {
  file: string;
  contents: string;
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
