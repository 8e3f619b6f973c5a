import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../support/local-server';
import { createProgramEnvironment, runProgramSync } from '../../scripts/harness/programs';

/** Suites and the programs that they start do not reach what a person's environment names. */

afterAll(cleanUp);

const GIT = runProgramSync('git', ['rev-parse', '--local-env-vars']).stdout.split('\n').filter(Boolean);

/** Variables that redirect a program, with harmless values. */
const REDIRECTING = {
  ...Object.fromEntries(GIT.map((name) => [name, '/nowhere'])),
  ...{
    GIT_CEILING_DIRECTORIES: '/',
    GIT_EXEC_PATH: '/nowhere',
    GIT_TEMPLATE_DIR: '/nowhere',
    GIT_SSH_COMMAND: 'false',
  },
  ...{ GIT_AUTHOR_NAME: 'someone', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: 'someone' },
  ...{ NODE_OPTIONS: '--no-warnings', NODE_PATH: '/nowhere', NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_DEBUG: 'x' },
  ...{ npm_config_prefix: '/nowhere', npm_config_ignore_scripts: 'true', npm_config_offline: 'true' },
  ...{ FIRESTORE_EMULATOR_HOST: '192.0.2.1:1', FIREBASE_CONFIG: '{}', FUNCTIONS_EMULATOR: 'true' },
  ...{ GOOGLE_APPLICATION_CREDENTIALS: '/nowhere', GOOGLE_CLOUD_PROJECT: 'production', GCLOUD_PROJECT: 'production' },
  ...{ GOOGLE_API_ENDPOINT: 'https://192.0.2.1', CLOUDSDK_CORE_PROJECT: 'production', GCE_METADATA_HOST: '192.0.2.1' },
  ...{ all_proxy: 'http://192.0.2.1', grpc_proxy: 'http://192.0.2.1', REQUESTS_CA_BUNDLE: '/nowhere' },
  ...{ CURL_CA_BUNDLE: '/nowhere', SSLKEYLOGFILE: '/nowhere', XDG_CONFIG_HOME: '/nowhere', WGETRC: '/nowhere' },
  ...{ PYTHONPATH: '/nowhere', PYTHONSTARTUP: '/nowhere', PYTHONWARNINGS: 'error', PIP_INDEX_URL: 'https://192.0.2.1' },
  ...{ BASH_ENV: '/nowhere', ENV: '/nowhere', CDPATH: '/', BASHOPTS: 'nocasematch', POSIXLY_CORRECT: '1' },
  ...{ API_KEY: 'a-key', BASE_URL: 'https://192.0.2.1', DATABASE_ID: 'other', WRITES_PAUSED: 'true', DATA_DIR: '/' },
  ...{ K_SERVICE: 'production', PORT: '1', FUNCTION_TARGET: 'x', FORCE_COLOR: '1', LD_PRELOAD: '' },
};

const PRINT = ['-p', 'JSON.stringify(Object.keys(process.env))'];

test('a suite and a program that it starts have no redirecting variable', () => {
  const ofProgram = JSON.parse(runProgramSync(process.execPath, PRINT).stdout) as string[];
  const names = [...Object.keys(process.env), ...ofProgram];
  expect(names.filter((name) => Object.hasOwn(REDIRECTING, name))).toEqual([]);
});

test('the test before passes in a shell that has all of them', () => {
  const jest = ['node_modules/jest/bin/jest.js', __filename, '--testNamePattern', '^a suite and '];
  const { status, stderr } = runProgramSync(process.execPath, jest, { env: REDIRECTING });
  expect([status, stderr]).toEqual([0, expect.stringContaining('1 passed')]);
});

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
