import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runProgram, type Variables } from '../../../test/support/programs';
import { BUILT_PACKAGE } from './deployed';

/** A release attests a build that anyone can repeat to the byte. */

const BUILD_INPUTS = [
  '.nvmrc',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'functions/package.json',
  'functions/src',
  'scripts',
];

const TOMORROW = resolve('functions/test/deployment/tomorrow.mjs');

/** Inside the repository, so that a build finds the packages that it bundles. */
mkdirSync('functions/.dev', { recursive: true });
const parent = mkdtempSync(resolve('functions/.dev/builds-'));
afterAll(() => rmSync(parent, { recursive: true }));

/** Builds the deploy package in a folder of its own. @param options of Node */
async function buildIn(name: string, options: string[] = [], env: Variables = {}): Promise<Map<string, string>> {
  const folder = join(parent, name);
  for (const input of BUILD_INPUTS) cpSync(input, join(folder, input), { recursive: true });
  await runProgram(process.execPath, [...options, 'scripts/build.mjs'], { cwd: folder, env });
  const built = join(folder, BUILT_PACKAGE);
  return new Map(readdirSync(built).map((file) => [file, readFileSync(join(built, file), 'utf8')]));
}

test('two builds, in two folders, on two days, at two commits and with two settings of npm, are the same to the byte, and name no folder', async () => {
  const first = await buildIn('here');
  const second = await buildIn('elsewhere', [`--import=${pathToFileURL(TOMORROW).href}`], {
    GIT_DIR: resolve('functions/.dev/no-repository'),
    // A setting of the user's npm.
    npm_config_save: 'false',
  });
  expect(first.size).toBeGreaterThan(10);
  expect([...second.keys()]).toEqual([...first.keys()]);
  const differing = [...first].filter(([file, text]) => second.get(file) !== text).map(([file]) => file);
  expect(differing).toEqual([]);
  const naming = [...first].filter(([, text]) => text.includes(process.cwd())).map(([file]) => file);
  expect(naming).toEqual([]);
});
