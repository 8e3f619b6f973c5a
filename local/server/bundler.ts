import { mkdir } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { context, type BuildContext } from 'esbuild';

export const SOURCE_FOLDER = 'functions/src';

/** Lies in functions/, where the packages of the functions are found. */
export const BUILD_FOLDER = 'functions/.dev';

export interface Bundler {
  /** @returns the path of the bundle */
  build: () => Promise<string>;
  /** Packages that the bundle requires. */
  getPackages: () => readonly string[];
  close: () => Promise<void>;
}

/** Bundles the sources alone: packages are loaded from node_modules, so a rebuild takes milliseconds. */
export async function createBundler(): Promise<Bundler> {
  await mkdir(BUILD_FOLDER, { recursive: true });
  const outfile = `${BUILD_FOLDER}/index.cjs`;
  let packages: readonly string[] = [];
  const builder: BuildContext<{ metafile: true }> = await context({
    entryPoints: [`${SOURCE_FOLDER}/index.ts`],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    sourcemap: 'inline',
    sourceRoot: pathToFileURL(`${BUILD_FOLDER}/`).href,
    metafile: true,
    logLevel: 'silent',
  });
  return {
    build: async () => {
      const { metafile } = await builder.rebuild();
      packages = Object.values(metafile.outputs)
        .flatMap(({ imports }) => imports)
        .filter(({ external, path }) => external === true && !isBuiltin(path))
        .map(({ path }) => path);
      return resolve(outfile);
    },
    getPackages: () => packages,
    close: () => builder.dispose(),
  };
}
