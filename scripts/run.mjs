import { mkdir } from 'node:fs/promises';
import Module, { createRequire } from 'node:module';
import { basename, dirname, resolve } from 'node:path';
import { isCurrent, recordBuild, replaceFile } from './file-states.mjs';

/**
 * Runs a TypeScript program of this repository, as a process or as a thread:
 *
 *     node --import ./scripts/preflight.mjs scripts/run.mjs <file> [arguments]
 *
 * Bundles the repository's own files that the program imports, unless they are as they were for the last bundle. One file, with
 * the compile cache of preflight.mjs, loads several times faster than a loader that transforms each file.
 */

/** Lies in functions/, where the packages of the functions are found. */
const FOLDER = 'functions/.dev/programs';
/** Files that a bundle depends on beside the bundled ones. */
const CONFIG_FILES = ['node_modules/.package-lock.json', 'tsconfig.json', 'scripts/run.mjs', 'scripts/file-states.mjs'];

const [node, , file, ...args] = process.argv;
if (file === undefined)
  throw new Error('Usage: node --import ./scripts/preflight.mjs scripts/run.mjs <file> [arguments]');
process.argv = [node, resolve(file), ...args];
// Packages have source maps, too; reading them takes longer than loading the packages.
Module.setSourceMapsSupport(true, { nodeModules: false });

const program = resolve(FOLDER, file.replaceAll(/^\.\/|\.ts$/g, '').replaceAll(/[/\\]/g, '-'));
const bundle = `${program}.cjs`;
const record = `${program}.json`;
if (await isCurrent(record)) createRequire(import.meta.url)(bundle);
else await bundleAndRun();

async function bundleAndRun() {
  const startedAt = Date.now();
  const { build, stop } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    outfile: bundle,
    bundle: true,
    write: false,
    metafile: true,
    packages: 'external',
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // As `require`, which loads a package once however it is imported.
    supported: { 'dynamic-import': false },
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'silent',
  });
  await stop();
  try {
    await mkdir(FOLDER, { recursive: true });
    for (const { path, contents } of outputFiles) await replaceFile(path, contents, FOLDER);
    const outputs = outputFiles.map(({ path }) => `${FOLDER}/${basename(path)}`);
    await recordBuild(record, startedAt, [...CONFIG_FILES, ...Object.keys(metafile.inputs)], outputs);
  } catch {
    // A checkout that cannot be written.
    runCode(outputFiles.find(({ path }) => path === bundle).text);
    return;
  }
  createRequire(import.meta.url)(bundle);
}

/** Runs a bundle as if it was in its file. */
function runCode(code) {
  const module = new Module(bundle);
  module.filename = bundle;
  module.paths = Module._nodeModulePaths(dirname(bundle));
  module._compile(code, bundle);
}
