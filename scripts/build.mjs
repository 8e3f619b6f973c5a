import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { build, transform } from 'esbuild';

/**
 * Builds functions/dist, the folder that a deployment uploads (docs/decisions/0011-one-bundle.md):
 *
 *     index.cjs           loads the function that a process serves
 *     <function>.cjs      one file per function, with the code that it alone needs
 *     chunk-<hash>.cjs    code that several functions share, or that is loaded on demand
 *     compile-cache.cjs   Node's compile cache: made by `gcp-build` in the cloud, turned on by index.cjs
 *     package.json        the packages that are not bundled, with exact versions
 *     package-lock.json   the repository's package-lock.json, pruned to those packages without a registry
 *
 * Bundles everything except the Functions Framework, which is the program that loads the functions.
 */

const SOURCE = 'functions';
const DIST = 'functions/dist';
const INDEX = 'index.cjs';
const COMPILE_CACHE = 'compile-cache.cjs';

/** Packages that production installs. */
const RUNTIME = ['@google-cloud/functions-framework'];
/** Packages that Firebase's tools require in package.json when they deploy or emulate; production omits them. */
const TOOLING = ['firebase-admin', 'firebase-functions'];

/** Files beside the bundle that Firebase's emulator needs; firebase.json excludes them from the upload. */
const NOT_UPLOADED = ['node_modules', '.secret.local'];

const NO_MESSAGES = 'export const google = {};';

/** Modules that are replaced, and by what: loading them is a large part of a cold start, and nothing here uses them. */
const REPLACED = {
  // firebase-functions verifies the callers of callable functions with these; no function here is callable.
  'firebase-admin/app': throwing('applicationDefault', 'deleteApp', 'getApp', 'initializeApp'),
  'firebase-admin/app-check': throwing('getAppCheck'),
  'firebase-admin/auth': throwing('getAuth'),
  // The SDK loads this client, which administers databases, with the client that it uses.
  './firestore_admin_client': throwing('FirestoreAdminClient'),
  // An earlier version of the client, and the messages of bundles of documents for browsers.
  './v1beta1': throwing('FirestoreClient'),
  '../protos/firestore_v1_proto_api': NO_MESSAGES,
  // Traces go nowhere without an OpenTelemetry SDK, which the service does not have.
  './telemetry/enabled-trace-util':
    "export { DisabledTraceUtil as EnabledTraceUtil } from './telemetry/disabled-trace-util';",
  // Each client of the SDK makes one, for questions about the places where an API is served.
  './locationService': 'export class LocationsClient { close() {} }',
  // Descriptors of messages, for gRPC's reflection service. The messages do without.
  'protobufjs/ext/descriptor': `
    const { Enum, Root, Type } = require('protobufjs');
    Root.prototype.toDescriptor = () => ({ file: [] });
    Enum.prototype.toDescriptor = Type.prototype.toDescriptor = () => ({ $type: { toObject: () => ({}) } });`,
  // google-gax exports the messages of these services to clients that have them; the one that is bundled does not.
  '../protos/iam_service': NO_MESSAGES,
  '../protos/locations': NO_MESSAGES,
  '../protos/operations': NO_MESSAGES,
  '../../protos/operations': NO_MESSAGES,
  // node-fetch loads it for versions of Node without URL.
  'whatwg-url': "export { URL, URLSearchParams } from 'node:url';",
};

const leanSdk = {
  name: 'lean-sdk',
  setup({ onResolve, onLoad, resolve }) {
    const replaced = ({ path, resolveDir }) => ({ path, namespace: leanSdk.name, pluginData: resolveDir });
    onResolve({ filter: /^(\.|protobufjs\/|whatwg-url$)/ }, (args) =>
      args.path in REPLACED ? replaced(args) : undefined,
    );
    onResolve({ filter: /^firebase-admin\// }, (args) => {
      const { path, importer, resolveDir, kind } = args;
      if (importer.includes('/node_modules/firebase-functions/')) return replaced(args);
      // The ES modules of firebase-admin read each of their exports, and with that load every client.
      return kind === 'import-statement' ? resolve(path, { kind: 'require-call', importer, resolveDir }) : undefined;
    });
    onLoad({ filter: /.*/, namespace: leanSdk.name }, ({ path, pluginData: resolveDir }) => ({
      contents: REPLACED[path],
      resolveDir,
    }));
    // V8 parses JSON faster than the same object as source.
    onLoad({ filter: /\.json$/ }, async ({ path }) => {
      const content = await json(path);
      const text = JSON.stringify(path.endsWith('/protos/v1.json') ? withoutDescriptors(content) : content);
      return { contents: `module.exports = JSON.parse(${JSON.stringify(text)});` };
    });
  },
};

/** Definitions of Firestore's messages without those of descriptors and of options for code generators, which none contains. */
function withoutDescriptors({ nested: { google } }) {
  const { api: _options, protobuf, ...services } = google.nested;
  const names = Object.keys(protobuf.nested);
  const sent = names.filter(
    (name) => !/Descriptor|Options$|^(Edition|FeatureSet|SourceCodeInfo|GeneratedCodeInfo)/.test(name),
  );
  return {
    nested: { google: { nested: { ...services, protobuf: { ...protobuf, nested: pick(protobuf.nested, sent) } } } },
  };
}

/** A module whose exports throw when they are called. */
function throwing(...names) {
  return names
    .map((name) => `export function ${name}() { throw new Error('${name} is not bundled: see scripts/build.mjs'); }`)
    .join('\n');
}

try {
  await buildPackage();
} catch (error) {
  // esbuild has printed what it found.
  if (!('errors' in error)) console.error(`${DIST} could not be built: ${error.message}`);
  process.exitCode = 1;
}

async function buildPackage() {
  const functions = exportedFunctions(await readFile(`${SOURCE}/src/index.ts`, 'utf8'));
  const manifest = await createManifest();
  const bundled = await bundle(functions, manifest.version);
  const files = new Map([
    ...bundled,
    [INDEX, index(functions)],
    [COMPILE_CACHE, await readFile('scripts/compile-cache.cjs')],
    ['package.json', pretty(manifest)],
    ['package-lock.json', pretty(prune(await json('package-lock.json'), manifest))],
  ]);
  await mkdir(DIST, { recursive: true });
  for (const [file, contents] of files) await replaceFile(`${DIST}/${file}`, contents);
  for (const file of await readdir(DIST)) {
    if (!files.has(file) && !NOT_UPLOADED.includes(file)) await rm(`${DIST}/${file}`, { recursive: true });
  }
}

/** Replaces a file in one step, because a starting process may be reading it. */
async function replaceFile(path, contents) {
  const unfinished = `${SOURCE}/.${process.pid}.unfinished`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}

async function createManifest() {
  const { name, version, description, license, dependencies } = await json(`${SOURCE}/package.json`);
  return {
    name,
    version,
    private: true,
    description,
    license,
    main: INDEX,
    scripts: { 'gcp-build': `node ${COMPILE_CACHE}` },
    // The major version, as functions run on no other; in functions/package.json npm would warn of it on an older Node.
    engines: { node: (await readFile('.nvmrc', 'utf8')).split('.')[0] },
    dependencies: pick(dependencies, RUNTIME),
    devDependencies: pick(dependencies, TOOLING),
  };
}

/** Reads the exported functions and their modules from index.ts. */
function exportedFunctions(source) {
  return [...source.matchAll(/^export \{ (\w+) \} from '(.+)';$/gm)].map(([, name, module]) => ({ name, module }));
}

/** Loads each function on first access, because a process serves only one. */
function index(functions) {
  const getters = functions.map(
    ({ name }) => `  get ${name}() {\n    return require('./${name}.cjs').${name};\n  },\n`,
  );
  return `'use strict';\nrequire('./${COMPILE_CACHE}').enable();\nmodule.exports = {\n${getters.join('')}};\n`;
}

/** Returns the commit that is built, with `-dirty` behind it if files differ from it; `unknown` outside of a repository. */
function readCommit() {
  try {
    const options = ['--always', '--dirty', '--abbrev=40', '--exclude=*'];
    return execFileSync('git', ['describe', ...options], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

/** esbuild splits code into shared chunks only as ES modules, so each file is then converted to CommonJS. */
async function bundle(functions, version) {
  const { outputFiles } = await build({
    entryPoints: functions.map(({ name, module }) => ({ in: `${SOURCE}/src/${module}.ts`, out: name })),
    outdir: DIST,
    outExtension: { '.js': '.cjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    external: RUNTIME,
    define: {
      'process.env.BUILD_VERSION': JSON.stringify(version),
      'process.env.BUILD_COMMIT': JSON.stringify(readCommit()),
    },
    plugins: [leanSdk],
    logLevel: 'warning',
  });
  return Promise.all(
    outputFiles.map(async ({ path, text }) => {
      // As `require`, since Node gives an `import()` of CommonJS another default export than esbuild does.
      const supported = { 'dynamic-import': false };
      const { code } = await transform(text, { format: 'cjs', platform: 'node', target: 'node24', supported });
      return [path.slice(path.lastIndexOf('/') + 1), compileModulesEagerly(code)];
    }),
  );
}

/**
 * Has V8 compile the function around each CommonJS module with the file, and so into the compile cache. By default it compiles
 * a function when it is first called, at every cold start; one in parentheses it expects to be called at once.
 */
function compileModulesEagerly(code) {
  const modules = /(?<=__commonJS\)?\(\{\n {2}"[^"\n]+")(\([^)\n]*\) \{\n.*?^ {2}\})(?=\n\}\);$)/gms;
  const eager = code.replace(modules, ': (function$1)');
  if (/__commonJS\)?\(\{\n(?! {2}"[^"\n]+": \(function\()/.test(eager))
    throw new Error('A CommonJS module is not recognized.');
  return eager;
}

/** Prunes the lock file to the manifest's packages, with the manifest's own `dev` marks. */
function prune({ lockfileVersion, requires, packages }, manifest) {
  const { name, version, license, engines, dependencies, devDependencies } = manifest;
  const runtime = reachable(packages, Object.keys(dependencies));
  const all = reachable(packages, [...Object.keys(dependencies), ...Object.keys(devDependencies)]);
  const kept = [...all].sort().map((path) => {
    const { dev, devOptional, ...entry } = packages[path];
    return [path.replace(`${SOURCE}/`, ''), runtime.has(path) ? entry : { ...entry, dev: true }];
  });
  if (new Set(kept.map(([path]) => path)).size < kept.length)
    throw new Error('Two versions of a package have one place.');
  const root = { name, version, license, engines, dependencies, devDependencies };
  return { name, version, lockfileVersion, requires, packages: { '': root, ...Object.fromEntries(kept) } };
}

/** Finds the node_modules paths of the named packages and of all their dependencies, as Node resolves them. */
function reachable(packages, names) {
  const reached = new Set();
  const reach = (name, from) => {
    const path = resolve(packages, name, from);
    if (path === undefined || reached.has(path)) return;
    reached.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = packages[path];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      reach(name, path);
  };
  for (const name of names) reach(name, SOURCE);
  return reached;
}

/** Resolves a package from a folder: in the nearest node_modules on the way up. */
function resolve(packages, name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (path in packages) return path;
    if (folder === '') return undefined;
  }
}

function pick(object, keys) {
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}

async function json(path) {
  return JSON.parse(await readFile(path, 'utf8'));
}

function pretty(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}
