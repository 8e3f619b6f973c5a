import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import lock from '../../../package-lock.json';
import { runProgram, type Variables } from '../../../test/support/programs';
import { BUILT_PACKAGE } from './deployed';

/** A release attests a build that anyone can repeat to the byte, and that no development package can change. */

const BUILD_INPUTS = [
  '.nvmrc',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'docs/openapi.json',
  'functions/audit',
  'functions/cli',
  'functions/package.json',
  'functions/records',
  'functions/src',
  'functions/test/contract',
  'functions/test/support',
  'scripts',
];

const TOMORROW = resolve('functions/test/deployment/tomorrow.mjs');

/** Inside the repository, so that a build finds the packages that it bundles. */
mkdirSync('functions/.dev', { recursive: true });
const parent = mkdtempSync(resolve('functions/.dev/builds-'));
afterAll(() => rmSync(parent, { recursive: true }));

/** Copies the inputs, and links the production packages. */
function prepare(name: string): string {
  const folder = join(parent, name);
  for (const input of BUILD_INPUTS) cpSync(input, join(folder, input), { recursive: true });
  for (const path of listInstalled((dev) => !dev)) {
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    for (const { parentPath, name } of files.filter((file) => !file.parentPath.startsWith(`${path}/node_modules`))) {
      mkdirSync(join(folder, parentPath), { recursive: true });
      linkSync(join(parentPath, name), join(folder, parentPath, name));
    }
  }
  return folder;
}

/** Adds development packages whose code leaves the file `poisoned` when it runs. Without them, Node and esbuild find the real ones. */
function poison(folder: string): void {
  const code = `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'poisoned'))}, __filename);`;
  for (const path of listInstalled((dev) => dev)) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify({ version: '0.0.0', main: 'index.js' }));
    writeFileSync(join(folder, path, 'index.js'), code);
  }
}

function listInstalled(isWanted: (dev: boolean) => boolean): string[] {
  const locked = Object.entries(lock.packages as Record<string, { dev?: boolean; link?: true }>);
  const packages = locked.filter(([path, { link }]) => path.startsWith('node_modules/') && !link && existsSync(path));
  return packages.filter(([, { dev = false }]) => isWanted(dev)).map(([path]) => path);
}

/** Builds all that a release ships. @param options of Node @returns contents by file */
async function buildIn(folder: string, options: string[] = [], env: Variables = {}): Promise<Map<string, string>> {
  await runProgram(process.execPath, [...options, 'scripts/build.mjs'], { cwd: folder, env });
  await runProgram(process.execPath, [...options, 'scripts/bundle-programs.mjs', 'programs'], { cwd: folder, env });
  const files = [BUILT_PACKAGE, 'programs'].flatMap((output) =>
    readdirSync(join(folder, output)).map((file) => join(output, file)),
  );
  return new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

test('two builds, in two folders, on two days, at two commits, with two settings of npm, and beside poisoned development packages, are the same to the byte, and name no folder', async () => {
  const first = await buildIn(prepare('here'));
  const elsewhere = prepare('elsewhere');
  poison(elsewhere);
  const second = await buildIn(elsewhere, [`--import=${pathToFileURL(TOMORROW).href}`], {
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
  expect(existsSync(join(elsewhere, 'poisoned'))).toBe(false);
});
