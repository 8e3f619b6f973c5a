import { cpSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import lock from '../../../package-lock.json';
import { runProgram, type Variables } from '../../run/programs';
import { BUILT_PACKAGE, DEPLOY_PACKAGE } from '../../run/deployed';

/** A release of a public repository attests its build, so anyone must be able to repeat the build to the byte. */

const BUILD_INPUTS = [
  '.nvmrc',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'docs/openapi.json',
  'functions/node-version.cjs',
  'functions/package.json',
  'functions/src',
  'command',
  'dev',
  'deploy',
];

const TOMORROW = resolve('dev/test/build/preload/tomorrow.mjs');

/** The folder is inside the repository, because hard links cannot cross file systems. */
mkdirSync('functions/.dev', { recursive: true });
const parent = mkdtempSync(resolve('functions/.dev/builds-'));
afterAll(() => rmSync(parent, { recursive: true }));

/** Copies the inputs, and links the production packages. */
function prepare(): string {
  const folder = join(parent, 'elsewhere');
  for (const input of BUILD_INPUTS) cpSync(input, join(folder, input), { recursive: true });
  for (const path of listInstalled()) {
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    for (const { parentPath, name } of files.filter((file) => !file.parentPath.startsWith(`${path}/node_modules`))) {
      mkdirSync(join(folder, parentPath), { recursive: true });
      linkSync(join(parentPath, name), join(folder, parentPath, name));
    }
  }
  return folder;
}

function listInstalled(): string[] {
  const locked = Object.entries(lock.packages as Record<string, { dev?: boolean; link?: true }>);
  const packages = locked.filter(([path, { link }]) => path.startsWith('node_modules/') && !link && existsSync(path));
  return packages.filter(([, { dev = false }]) => !dev).map(([path]) => path);
}

/** Reads the files of the deploy package and of the bundled programs. @returns contents by file */
function readBuild(deployPackage: string, programs: string): Map<string, string> {
  const files = Object.entries({ deployPackage, programs }).flatMap(([name, folder]) =>
    readdirSync(folder).map((file) => [name, folder, file] as const),
  );
  // Leaves out the hidden file from which Firebase's emulator reads secrets, because no deployment uploads it.
  const shipped = files.filter(([, , file]) => !file.startsWith('.'));
  return new Map(shipped.map(([name, folder, file]) => [`${name}/${file}`, readFileSync(join(folder, file), 'utf8')]));
}

test('a build in another folder, on another day, without Git and with other npm settings has the same bytes, and does not name its folder', async () => {
  const programs = join(parent, 'programs');
  await runProgram(process.execPath, ['dev/build/bundle-programs.mjs', programs]);
  const first = readBuild(DEPLOY_PACKAGE, programs);

  const elsewhere = prepare();
  const env: Variables = {
    GIT_DIR: resolve('functions/.dev/no-repository'),
    // With this setting, npm would leave the lock file unchanged, so the build must ignore the setting.
    npm_config_save: 'false',
  };
  for (const args of [['dev/build/build.mjs'], ['dev/build/bundle-programs.mjs', 'programs']]) {
    const program = [`--import=${pathToFileURL(TOMORROW).href}`, ...args];
    await runProgram(process.execPath, program, { cwd: elsewhere, env });
  }
  const second = readBuild(join(elsewhere, BUILT_PACKAGE), join(elsewhere, 'programs'));

  expect(first.size).toBeGreaterThan(10);
  expect([...second.keys()]).toEqual([...first.keys()]);
  const differing = [...first].filter(([file, text]) => second.get(file) !== text).map(([file]) => file);
  expect(differing).toEqual([]);
  const naming = [...first].filter(([, text]) => text.includes(process.cwd())).map(([file]) => file);
  expect(naming).toEqual([]);
});
