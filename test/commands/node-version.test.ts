import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { engines, scripts } from '../../package.json';
import { runProgramSync } from '../support/programs';
import { cleanUp, temporaryFolder } from '../support/local-server';

/** Which Node runs the programs of this repository, and what they say on one that is too old. */

afterAll(cleanUp);

const oldest = engines.node.slice('>='.length);
const SENTENCE = new RegExp(
  `^This needs Node ${oldest} or later, but Node 20.20.2 runs it\\. .* npm run postinstall\n`,
  'm',
);

/** Has every process of Node take itself for another version. */
function pretendVersion(version: string) {
  const file = join(temporaryFolder(), 'version.cjs');
  writeFileSync(
    file,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
  return { NODE_OPTIONS: `--require ${file}` };
}

// Those that are programs of other packages, or npm's own step.
const { postinstall: _, format: __, ...ours } = scripts;

test.each(Object.keys(ours))('npm run %s on an older Node says what to do', (name) => {
  const { status, stdout, stderr } = runProgramSync('npm', ['run', '--silent', name], {
    env: pretendVersion('20.20.2'),
  });
  expect(status).toBe(1);
  // `check` prints on stdout what its steps have printed.
  expect(stdout + stderr).toMatch(SENTENCE);
});

test.each(['22.12.0', '20.20.2'])('Jest and the functions say so on Node %s', (version) => {
  const env = pretendVersion(version);
  for (const args of [
    ['node_modules/jest/bin/jest.js', '--listTests'],
    ['-e', "require('./functions/dist')"],
  ]) {
    const { status, stderr } = runProgramSync(process.execPath, args, { env });
    expect([status, stderr]).toEqual([1, expect.stringContaining(`or later, but Node ${version} runs it.`)]);
  }
});

describe('npm run postinstall', () => {
  const link = join('node_modules', '.bin', 'node');

  /** A folder with a package of the Node binary for this machine, as npm leaves it: without the link. */
  function createFolder(binary: string) {
    const folder = temporaryFolder();
    const packageFolder = join(folder, 'node_modules', 'node-here');
    mkdirSync(join(packageFolder, 'bin'), { recursive: true });
    const manifest = { name: 'node-here', version: '1.0.0', bin: { node: 'bin/node' } };
    writeFileSync(join(packageFolder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(packageFolder, 'bin', 'node'), binary, { mode: 0o755 });
    const postinstall = `node ${resolve('scripts/link-node.mjs')}`;
    const root = { scripts: { postinstall }, optionalDependencies: { 'node-here': '1.0.0', 'node-there': '1.0.0' } };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
    return folder;
  }

  test('links the package whose Node runs here', () => {
    const folder = createFolder('#!/bin/sh\necho linked\n');
    const { status } = runProgramSync('npm', ['run', 'postinstall'], { cwd: folder });
    expect([status, runProgramSync(join(folder, link), []).stdout]).toEqual([0, 'linked\n']);
  });

  test('links none where it does not run, such as one for another C library, and succeeds', () => {
    const folder = createFolder('#!/nowhere\n');
    const { status } = runProgramSync('npm', ['run', 'postinstall'], { cwd: folder });
    expect([status, runProgramSync(join(folder, link), []).status]).toEqual([0, null]);
    rmSync(join(folder, 'node_modules'), { recursive: true });
    expect(runProgramSync('npm', ['run', 'postinstall'], { cwd: folder }).status).toBe(0);
  });
});
