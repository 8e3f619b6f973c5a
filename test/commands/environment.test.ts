import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../support/local-server';
import { createProgramEnvironment, runProgramSync } from '../../scripts/harness/programs';

/** Programs that tests start do not reach what a person's environment names. */

afterAll(cleanUp);

test('git of a test, in a hook of a repository, changes only the folder that it is started in', () => {
  const git = (folder: string, ...args: string[]) => {
    expect(runProgramSync('git', args, { cwd: folder })).toMatchObject({ status: 0 });
  };
  const [theirs, ours] = [temporaryFolder(), temporaryFolder()];
  git(theirs, 'init', '--quiet');
  const index = join(theirs, '.git', 'index');
  writeFileSync(index, 'their index');
  jest.replaceProperty(process, 'env', {
    ...process.env,
    GIT_DIR: join(theirs, '.git'),
    GIT_WORK_TREE: theirs,
    GIT_INDEX_FILE: index,
  });
  mkdirSync(join(ours, 'folder'));
  writeFileSync(join(ours, 'folder', 'file'), '');
  git(ours, 'init', '--quiet');
  git(ours, 'add', '.');
  jest.restoreAllMocks();
  expect(readFileSync(index, 'utf8')).toBe('their index');
  expect(runProgramSync('git', ['ls-files'], { cwd: ours }).stdout).toBe('folder/file\n');
});

test('programs that tests start are called without a proxy', () => {
  const env = { no_proxy: undefined, NO_PROXY: 'registry.internal', https_proxy: 'http://192.0.2.1' };
  jest.replaceProperty(process, 'env', { ...process.env, ...env });
  const { https_proxy, no_proxy, NO_PROXY } = createProgramEnvironment();
  jest.restoreAllMocks();
  expect([https_proxy, no_proxy, NO_PROXY]).toEqual([
    'http://192.0.2.1',
    '127.0.0.1,localhost,registry.internal',
    '127.0.0.1,localhost,registry.internal',
  ]);
});
