const { createRequire, isBuiltin } = require('node:module');
const { sep } = require('node:path');
const { default: JestRuntime } = require('jest-runtime');

/** Packages that hold state of the service under test: an app, registered functions, a console. Each test file has its own. */
const STATEFUL = [
  'firebase-admin',
  'firebase-functions',
  'firebase-functions-test',
  '@google-cloud/functions-framework',
];

const MODULES = `${sep}node_modules${sep}`;

/**
 * Loads packages by Node itself, once for all test files of a worker. Jest would compile and run them again for each file,
 * which takes longer than most files do. The code of this repository is loaded for each file, as ever.
 */
module.exports = class SharedPackagesRuntime extends JestRuntime {
  requireModuleOrMock(from, name) {
    const path = findSharedPackage(from, name);
    return path === undefined ? super.requireModuleOrMock(from, name) : createRequire(from)(path);
  }
};

function findSharedPackage(from, name) {
  if (isBuiltin(name) || name === '@jest/globals') return undefined;
  let path;
  try {
    path = createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
  const start = path.lastIndexOf(MODULES);
  if (start === -1) return undefined;
  const inside = path.slice(start + MODULES.length).replaceAll(sep, '/');
  return STATEFUL.some((name) => inside.startsWith(`${name}/`)) ? undefined : path;
}
