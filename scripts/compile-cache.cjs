'use strict';
const { chmodSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } = require('node:fs');
const { enableCompileCache, flushCompileCache } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { cachedDataVersionTag } = require('node:v8');
const { Script } = require('node:vm');

/*
 * Node's compile cache of this package. Google's Node buildpack runs `node compile-cache.cjs`
 * (`gcp-build` of package.json) once the package is installed, with the Node that will serve it.
 * Without a cache everything works, only slower.
 */
const FOLDER = join(__dirname, '.compile-cache');

/** Turns the cache on, if `gcp-build` has made one. */
function enable() {
  try {
    const [made] = readdirSync(FOLDER);
    enableCompileCache(made === runtimeTag() ? FOLDER : linked(made));
  } catch {
    // No cache, or nowhere to link it from: modules are compiled from their source.
  }
}

/** The name that Node gives the cache of this process, by its version, processor and user. */
function runtimeTag() {
  const tag = cachedDataVersionTag().toString(16).padStart(8, '0');
  return `${process.version}-${process.arch}-${tag}-${process.getuid()}`;
}

/** What was built on another processor, or by another user, is valid under another name. */
function linked(made) {
  const folder = mkdtempSync(join(tmpdir(), 'compile-cache-'));
  symlinkSync(join(FOLDER, made), join(folder, runtimeTag()));
  return folder;
}

/** Compiles every module of this package, and keeps what comes of it for any user to read. */
function make() {
  enableCompileCache(FOLDER);
  for (const file of readdirSync(__dirname)) if (file.endsWith('.cjs')) require(join(__dirname, file));
  flushCompileCache();
  const [made] = readdirSync(FOLDER);
  // V8 takes this exactly if it takes the rest: lib/http/instance.ts logs whether it did.
  writeFileSync(join(FOLDER, made, 'probe'), new Script('probe').createCachedData());
  for (const file of readdirSync(join(FOLDER, made))) chmodSync(join(FOLDER, made, file), 0o644);
}

module.exports = { enable };
if (require.main === module) make();
