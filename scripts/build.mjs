import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';

/**
 * Builds functions/dist: exactly what is uploaded by a deployment.
 *
 *     index.cjs           the six functions and all that they import, Firebase's and Google's libraries included
 *     package.json        what is not in the bundle, each at its exact version
 *     package-lock.json   functions/package-lock.json, pruned to that: nothing here asks a registry
 *
 * Everything is in the bundle but the Functions Framework, which is the program that loads it: one file that Node reads
 * and compiles starts a fifth faster than the five hundred of node_modules (docs/deployment.md has the figures). As `.cjs` the
 * framework need not search for a package.json that tells what kind of module it is. It is not minified: that was measured to
 * gain nothing, and a stack trace stays readable.
 */

const SOURCE = 'functions';
const DIST = 'functions/dist';
const BUNDLE = 'index.cjs';

/** What production installs. */
const RUNTIME = ['@google-cloud/functions-framework'];
/** What Firebase's tools demand to find declared, on the machine that deploys or emulates; production leaves it out. */
const TOOLING = ['firebase-admin', 'firebase-functions'];

/** What Firebase's tools need beside the bundle for their emulator; firebase.json keeps it out of an upload. */
const NOT_UPLOADED = ['node_modules', '.secret.local'];

const { outputFiles } = await build({
  stdin: { contents: lazily(await readFile(`${SOURCE}/src/index.ts`, 'utf8')), resolveDir: `${SOURCE}/src` },
  outfile: `${DIST}/${BUNDLE}`,
  bundle: true,
  write: false,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  external: RUNTIME,
  logLevel: 'warning',
});

const { name, version, description, license, engines, dependencies } = await json(`${SOURCE}/package.json`);
const manifest = {
  name,
  version,
  private: true,
  description,
  license,
  main: BUNDLE,
  engines,
  dependencies: pick(dependencies, RUNTIME),
  devDependencies: pick(dependencies, TOOLING),
};
const lock = prune(await json(`${SOURCE}/package-lock.json`), manifest);

const files = new Map([
  [BUNDLE, outputFiles[0].contents],
  ['package.json', pretty(manifest)],
  ['package-lock.json', pretty(lock)],
]);
await mkdir(DIST, { recursive: true });
for (const [file, contents] of files) await replace(`${DIST}/${file}`, contents);
for (const file of await readdir(DIST)) {
  if (!files.has(file) && !NOT_UPLOADED.includes(file)) await rm(`${DIST}/${file}`, { recursive: true });
}

/** The functions that a module exports, each loaded when it is asked for: a deployed function asks for one of the six. */
function lazily(index) {
  const exported = [...index.matchAll(/^export \{ (\w+) \} from '(.+)';$/gm)];
  const getters = exported.map(([, name, file]) => `get ${name}() { return require('${file}').${name}; }`);
  return `module.exports = { ${getters.join(',')} };`;
}

/** The lock file, pruned to what the manifest needs, under the manifest's own `dev` marks. */
function prune({ lockfileVersion, requires, packages }, manifest) {
  const { name, version, license, engines, dependencies, devDependencies } = manifest;
  const runtime = reachable(packages, Object.keys(dependencies));
  const all = reachable(packages, [...Object.keys(dependencies), ...Object.keys(devDependencies)]);
  const kept = [...all].sort().map((path) => {
    const { dev, devOptional, ...entry } = packages[path];
    return [path, runtime.has(path) ? entry : { ...entry, dev: true }];
  });
  const root = { name, version, license, engines, dependencies, devDependencies };
  return { name, version, lockfileVersion, requires, packages: { '': root, ...Object.fromEntries(kept) } };
}

/** The places in node_modules of the named packages and of all that they depend on, as Node finds them. */
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
  for (const name of names) reach(name, '');
  return reached;
}

/** Where Node finds a package that is required from a place: in the nearest node_modules from there upwards. */
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

/** Writes a file so that whoever reads it meanwhile, a function that is starting, finds the old one or the new one whole. */
async function replace(path, contents) {
  const unfinished = `${SOURCE}/.${process.pid}.unfinished`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}
