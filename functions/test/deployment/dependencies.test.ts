import { readFileSync } from 'node:fs';
import { DEPLOY_PACKAGE } from './deployed';

/**
 * What the lock files alone tell of the dependencies, so that it holds without a network. Whether a vulnerability has become
 * known since is asked of the registry by `npm run audit` (docs/security.md).
 */

interface Locked {
  version: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
  hasInstallScript?: boolean;
  deprecated?: string;
}

interface LockFile {
  packages: Record<string, Locked>;
}

const packagesOf = (file: string): [name: string, locked: Locked][] => {
  const { '': _root, ...packages } = (JSON.parse(readFileSync(file, 'utf8')) as LockFile).packages;
  return Object.entries(packages).map(([path, locked]) => [path.slice(path.lastIndexOf('node_modules/') + 13), locked]);
};

/** Licences under which a dependency may be shipped with closed code; all ask for no more than their notice. */
const PERMISSIVE = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'CC0-1.0', '(MIT OR CC0-1.0)'];

/** Packages whose manifest does not say it in that way, and where it was read instead. */
const READ_BY_HAND: Record<string, string> = {
  limiter: 'MIT, in the older form of the field',
  'spdx-exceptions': 'CC-BY-3.0: a list of names, not code',
};

describe.each(['functions/package-lock.json', `${DEPLOY_PACKAGE}/package-lock.json`])('%s', (file) => {
  const shipped = packagesOf(file).filter(([, { dev }]) => dev !== true);

  test('every package that is shipped has a licence that allows it', () => {
    const others = shipped.filter(
      ([name, { license = '' }]) => !PERMISSIVE.includes(license) && !(name in READ_BY_HAND),
    );
    expect(others).toEqual([]);
  });

  test('every package is locked by its content, comes from the registry, and is not deprecated', () => {
    for (const [name, { integrity, resolved, deprecated }] of packagesOf(file)) {
      expect([name, integrity]).toEqual([name, expect.stringMatching(/^sha512-/)]);
      expect([name, resolved, deprecated]).toEqual([name, undefined, undefined]);
    }
  });

  test('no package runs a script when it is installed but the two that are told not to', () => {
    const { allowScripts } = JSON.parse(readFileSync('functions/package.json', 'utf8')) as { allowScripts: object };
    const scripted = packagesOf(file).filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(new Set(scripted.map(([name]) => name))).toEqual(new Set(Object.keys(allowScripts)));
    expect(Object.values(allowScripts)).toEqual([false, false]);
  });
});

test('production installs the framework and what it needs, and nothing of it runs a script then', () => {
  const installed = packagesOf(`${DEPLOY_PACKAGE}/package-lock.json`).filter(([, { dev }]) => dev !== true);
  expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  expect(installed.length).toBeLessThanOrEqual(130);
});

test('the development tools are under licences that allow their use', () => {
  const more = ['BlueOak-1.0.0', 'Python-2.0', 'CC-BY-4.0'];
  const others = packagesOf('package-lock.json').filter(
    ([name, { license = '' }]) => ![...PERMISSIVE, ...more].includes(license) && !(name in READ_BY_HAND),
  );
  expect(others).toEqual([]);
});
