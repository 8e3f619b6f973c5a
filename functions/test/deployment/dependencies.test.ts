import { readFileSync } from 'node:fs';
import firebase from '../../../firebase.json';
import lock from '../../../package-lock.json';
import manifest from '../../../package.json';
import { DEPLOY_PACKAGE } from '../../../dev/run/deployed';

interface LockedPackage {
  dev?: boolean;
  hasInstallScript?: boolean;
}

const toEntries = (packages: object) => Object.entries(packages as Record<string, LockedPackage>);

test('package.json lets only esbuild run its install script, and denies that to every other package with such a script except fsevents', () => {
  const installed = toEntries(lock.packages).filter(([path]) => path !== '');
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  const names = scripted.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
  // allowScripts does not name fsevents, which is installed only on macOS.
  expect(new Set(names.filter((name) => name !== 'fsevents'))).toEqual(new Set(Object.keys(manifest.allowScripts)));
  expect(Object.entries(manifest.allowScripts).filter(([, isAllowed]) => isAllowed)).toEqual([['esbuild', true]]);
});

// npm adds an older copy, with its own client, as soon as a peer dependency requires an older version.
test.each(['firebase-admin', '@google-cloud/firestore'])('the lock file has one copy of %s', (name) => {
  expect(toEntries(lock.packages).filter(([path]) => path.endsWith(`node_modules/${name}`))).toHaveLength(1);
});

test('production installs at most 130 packages, and none of them has an install script', () => {
  const { packages } = JSON.parse(readFileSync(`${DEPLOY_PACKAGE}/package-lock.json`, 'utf8')) as typeof lock;
  const installed = toEntries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  expect(installed.length).toBeLessThanOrEqual(130);
});

test('the Node packages have the version in .nvmrc, and the runtime of the functions and @types/node have its major version', () => {
  const version = readFileSync('.nvmrc', 'utf8').trim();
  const [major] = version.split('.');
  expect(new Set(Object.values(manifest.optionalDependencies))).toEqual(new Set([version]));
  expect(firebase.functions[0]?.runtime).toBe(`nodejs${major}`);
  expect(manifest.devDependencies['@types/node'].split('.')[0]).toBe(major);
});
