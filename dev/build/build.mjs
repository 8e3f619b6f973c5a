import '../../functions/node-version.cjs';
import { exec } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { build, transform } from 'esbuild';
import functionsPackage from '../../functions/package.json' with { type: 'json' };
import repositoryPackage from '../../package.json' with { type: 'json' };
import repositoryLock from '../../package-lock.json' with { type: 'json' };
import { readArguments } from '../program.mjs';
import { createBillOfMaterials } from './bill-of-materials.mjs';
import { OPTIONAL } from './production.mjs';

/**
 * Builds functions/dist, the folder that a deployment uploads (docs/decisions/0011-one-bundle.md):
 *
 *     index.cjs           loads the function that a process serves
 *     <function>.cjs      one file per function, with the code that only it needs
 *     instance.cjs        what index.cjs calls when a process starts
 *     chunk-<hash>.cjs    code that several functions share, or that is loaded on demand
 *     node-version.cjs    ends a process on a Node that is too old; index.cjs loads it first
 *     package.json        the Functions Framework, and as devDependencies the bundled packages that Firebase's tools require
 *     package-lock.json   the repository's package-lock.json, pruned by npm to the packages of package.json
 *     sbom.cdx.json       the bill of materials: the packages that are bundled or installed
 *
 * Bundles every package that the functions need. Production installs the Functions Framework, which loads the functions.
 * The same sources give the same bytes, in any folder and at any commit, so a commit that changes
 * only documents changes nothing that is deployed.
 */

const SOURCE = 'functions';
const DIST = 'functions/dist';
const INDEX = 'index.cjs';
const INSTANCE = `${SOURCE}/src/lib/instance/start.ts`;
const NODE_VERSION = 'node-version.cjs';

/** Packages that production installs. */
const RUNTIME = ['@google-cloud/functions-framework'];
/** Packages that Firebase's tools require in package.json. Production does not install them: what the functions need of them is bundled. */
const TOOLING = ['firebase-admin', 'firebase-functions'];

/** The file from which Firebase's emulator reads secrets. No deployment uploads it (firebase.json). */
const LOCAL_SECRETS = '.secret.local';

/** Modules that are loaded but not used, and what replaces them (decision 0011). */
const REPLACED = {
  'firebase-admin/app-check': './dev/build/replacements/no-callable-functions.cjs',
  'firebase-admin/auth': './dev/build/replacements/no-callable-functions.cjs',
  'protobufjs/ext/descriptor': './dev/build/replacements/no-descriptors.cjs',
};

/** The placeholder for the build id until all contents are known. */
const BUILD_ID = '<the build id>';

const TARGET = { platform: 'node', target: `node${repositoryPackage.engines.node.slice('>='.length)}` };

readArguments('Usage: npm run build\n\nBuilds the deploy package, functions/dist. The command has no options.');

try {
  await buildPackage();
} catch (error) {
  // esbuild has already printed its own errors.
  if (!('errors' in error)) console.error(`${DIST} could not be built: ${error.message}`);
  process.exitCode = 1;
}

async function buildPackage() {
  const manifest = await createManifest();
  const [{ bundled, metafile }, lock] = await Promise.all([bundle(), createLock(manifest)]);
  const billOfMaterials = createBillOfMaterials(manifest, metafile, repositoryLock, JSON.parse(lock));
  const files = insertBuildId([
    ...bundled,
    [NODE_VERSION, await readFile(`${SOURCE}/${NODE_VERSION}`, 'utf8')],
    ['package.json', pretty(manifest)],
    ['package-lock.json', lock],
    ['sbom.cdx.json', pretty(billOfMaterials)],
  ]);
  await mkdir(DIST, { recursive: true });
  for (const [file, contents] of files) await replaceFile(`${DIST}/${file}`, contents);
  await replaceFile(`${DIST}/${LOCAL_SECRETS}`, 'API_KEY=local-dev-key\n');
  const kept = new Set([...files.keys(), 'node_modules', LOCAL_SECRETS]);
  for (const file of await readdir(DIST)) {
    if (!kept.has(file)) await rm(`${DIST}/${file}`, { recursive: true });
  }
}

/** Replaces the placeholder with the build id, a digest of all contents. @returns contents by file name */
function insertBuildId(files) {
  const sorted = files.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const buildId = createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 40);
  return new Map(sorted.map(([file, contents]) => [file, contents.replaceAll(BUILD_ID, buildId)]));
}

/** Replaces a file in one step, because a process that starts at that moment may be reading the file. */
async function replaceFile(path, contents) {
  const unfinished = `${SOURCE}/.${process.pid}.unfinished`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}

async function createManifest() {
  const { name, version, description, license, dependencies } = functionsPackage;
  return {
    name,
    version,
    private: true,
    description,
    license,
    main: INDEX,
    config: { build: BUILD_ID },
    // functions/package.json has no `engines`, because npm would print a warning about them on an older Node.
    engines: { node: (await readFile('.nvmrc', 'utf8')).split('.')[0] },
    dependencies: pick(dependencies, RUNTIME),
    devDependencies: pick(dependencies, TOOLING),
  };
}

/** Bundles each function. @returns file names with contents, and esbuild's metafile */
async function bundle() {
  const operations = (await readdir(`${SOURCE}/src`)).filter((file) => file.endsWith('.ts') && file !== 'index.ts');
  const entryPoints = operations.map((file) => `${SOURCE}/src/${file}`);
  const { outputFiles, metafile } = await build({
    ...TARGET,
    entryPoints: [...entryPoints, { in: INSTANCE, out: 'instance' }],
    outdir: DIST,
    outExtension: { '.js': '.cjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    external: RUNTIME,
    alias: { ...REPLACED, ...OPTIONAL },
    define: {
      'process.env.BUILD_VERSION': JSON.stringify(functionsPackage.version),
      'process.env.BUILD_COMMIT': JSON.stringify(BUILD_ID),
    },
    logLevel: 'warning',
  });
  const files = outputFiles.map(async ({ path, text }) => [basename(path), await toCommonJs(text)]);
  const built = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoints.includes(entryPoint));
  const functions = built.flatMap(([path, { exports }]) => exports.map((name) => ({ name, file: basename(path) })));
  return { bundled: [[INDEX, createIndex(functions)], ...(await Promise.all(files))], metafile };
}

/** Converts an output file to CommonJS, because esbuild creates shared chunks only if its output format is ESM. */
async function toCommonJs(text) {
  // Dynamic imports become `require`, because Node gives an `import()` of CommonJS a different default export.
  const options = { ...TARGET, format: 'cjs', supported: { 'dynamic-import': false }, logLevel: 'error' };
  const { code } = await transform(text, options);
  return code;
}

/** Returns the text of index.cjs, which starts the instance and loads each function on first access, because a process serves only one. */
function createIndex(functions) {
  const getters = functions.map(
    ({ name, file }) => `  get ${name}() {\n    return require('./${file}').${name};\n  },\n`,
  );
  return `'use strict';\nrequire('./${NODE_VERSION}');\nrequire('./instance.cjs').startInstance();\nmodule.exports = {\n${getters.join('')}};\n`;
}

/** Has npm prune the repository's lock file to the packages of the manifest, offline. */
async function createLock(manifest) {
  const { packages, ...lock } = repositoryLock;
  // The workspaces are left out here, because older versions of npm would keep them.
  const installed = Object.entries(packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link);
  const folder = await mkdtemp(join(tmpdir(), 'deploy-package-'));
  try {
    await writeFile(join(folder, 'package.json'), pretty(manifest));
    await writeFile(join(folder, 'package-lock.json'), pretty({ ...lock, packages: Object.fromEntries(installed) }));
    const options =
      '--package-lock-only --omit-lockfile-registry-resolved --offline --no-audit --no-fund --loglevel=error';
    await promisify(exec)(`npm install ${options}`, { cwd: folder, env: createNpmEnvironment(folder) });
    return await readFile(join(folder, 'package-lock.json'), 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns an environment without the user's npm settings. With `save=false`, for instance, npm would not change the lock file. */
function createNpmEnvironment(folder) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name));
  const missing = { npm_config_userconfig: join(folder, 'user'), npm_config_globalconfig: join(folder, 'global') };
  return { ...Object.fromEntries(inherited), ...missing };
}

function pick(object, keys) {
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}

function pretty(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}
