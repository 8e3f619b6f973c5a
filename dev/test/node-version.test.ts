import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { engines, scripts } from '../../package.json';
import { runProgramSync } from '../run/programs';
import { cleanUp, temporaryFolder } from '../../test/harness/local-server';

/** Tests the oldest Node that programs accept and ci.yml uses, the script `postinstall`, and the repository's settings of npm. */

afterAll(cleanUp);

const oldest = engines.node.slice('>='.length);
const SENTENCE = new RegExp(
  `^This program needs Node ${oldest} or later, but runs on Node 20.20.2\\. .* npm run postinstall\n`,
  'm',
);

/** Returns variables that make every Node process report another version. */
function pretendVersion(version: string) {
  const file = join(temporaryFolder(), 'version.cjs');
  writeFileSync(
    file,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
  return { NODE_OPTIONS: `--require ${file}` };
}

// npm itself runs `postinstall`, and `format` is a program of another package.
const { postinstall: _, format: __, ...ours } = scripts;

/** The first command of each npm script, which is the build for several of them. */
const firstCommands = new Set(Object.values(ours).map((script) => script.split(' && ')[0] ?? ''));

test.each([...firstCommands])('%s fails on an older Node and says what to do', (command) => {
  const env = { ...pretendVersion('20.20.2'), PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
  const { status, stdout, stderr } = runProgramSync('sh', ['-c', command], { env });
  expect(status).toBe(1);
  // `check` prints the output of its steps on stdout.
  expect(stdout + stderr).toMatch(SENTENCE);
});

test.each([
  ['Jest', ['node_modules/jest/bin/jest.js', '--listTests']],
  ['a function', ['-e', "require('./functions/dist')"]],
])('%s fails on a Node of an older minor version', (_name, args) => {
  const { status, stderr } = runProgramSync(process.execPath, args, { env: pretendVersion('22.18.0') });
  expect([status, stderr]).toEqual([1, expect.stringContaining('or later, but runs on Node 22.18.0.')]);
});

test('the job `oldest` of ci.yml uses exactly the oldest Node that package.json allows', () => {
  const workflow = readFileSync('.github/workflows/ci.yml', 'utf8');
  expect(/^  oldest:\n(?:.+\n)*? +node-version: (.+)$/m.exec(workflow)?.[1]).toBe(`${oldest}.0`);
});

test('the settings of npm include development packages even if NODE_ENV is production', () => {
  const { stdout } = runProgramSync('npm', ['config', 'get', 'include'], { env: { NODE_ENV: 'production' } });
  expect(stdout).toBe('dev\n');
});

describe('npm run postinstall', () => {
  const link = join('node_modules', '.bin', 'node');

  /** Creates a folder with a package of a Node binary. The link to the binary is missing, as if npm had removed it (dev/link-node.mjs). */
  function createFolder(binary: string) {
    const folder = temporaryFolder();
    const packageFolder = join(folder, 'node_modules', 'node-here');
    mkdirSync(join(packageFolder, 'bin'), { recursive: true });
    const manifest = { name: 'node-here', version: '1.0.0', bin: { node: 'bin/node' } };
    writeFileSync(join(packageFolder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(packageFolder, 'bin', 'node'), binary, { mode: 0o755 });
    const postinstall = `node "${resolve('dev/link-node.mjs')}"`;
    const root = { scripts: { postinstall }, optionalDependencies: { 'node-here': '1.0.0', 'node-there': '1.0.0' } };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
    return folder;
  }

  test('links the Node that runs on this machine', () => {
    const folder = createFolder('#!/bin/sh\necho linked\n');
    const { status } = runProgramSync('npm', ['run', 'postinstall'], { cwd: folder });
    expect([status, runProgramSync(join(folder, link), []).stdout]).toEqual([0, 'linked\n']);
  });

  test('succeeds without a link if no Node in the packages runs on this machine', () => {
    const folder = createFolder('#!/nowhere\n');
    const { status } = runProgramSync('npm', ['run', 'postinstall'], { cwd: folder });
    expect([status, existsSync(join(folder, link))]).toEqual([0, false]);
    rmSync(join(folder, 'node_modules'), { recursive: true });
    expect(runProgramSync('npm', ['run', 'postinstall'], { cwd: folder }).status).toBe(0);
  });
});
