import { writeFileSync } from 'node:fs';
import { assertReadable } from '../../cli/connection';
import { describeCredentials } from '../../cli/errors';
import { resolveTarget, type Target } from '../../cli/target';
import { systemClock } from '../../../functions/src/lib/clock';
import { Database } from '../../../functions/src/lib/firestore/database';
import { createWorkContext } from '../../../functions/src/lib/work-context';
import { cleanUp, temporaryFolder } from '../../../test/harness/local-server';
import { useTestService } from '../../../test/harness/service';
import { runCommand } from '../../../test/harness/command';

/** Tests how the command finds its database, and what it says, and how soon, if it cannot reach the database. */

const service = useTestService({});
beforeEach(() => {
  jest.replaceProperty(process, 'env', { ...process.env, no_proxy: '' });
});
afterEach(() => jest.restoreAllMocks());

/** No server is expected to listen on port 1. */
const NOWHERE = '127.0.0.1:1';
const PRODUCTION: Target = { project: 'production', database: '(default)', address: undefined };

/** Matches the raw text of a gRPC or socket error, or a line of a stack trace. */
const RAW = /UNAVAILABLE:|ECONNREFUSED|\d [A-Z_]+:|    at /;

test('if nothing listens locally, the command says so within 4 s, and names the command that starts a database', async () => {
  process.env['FIRESTORE_EMULATOR_HOST'] = NOWHERE;
  const startedAt = performance.now();
  const { code, out, err } = await runCommand('list');
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  expect([code, out]).toEqual([1, '']);
  const text = `No Firestore responds at ${NOWHERE}. Start the local service (npm start), or check FIRESTORE_EMULATOR_HOST.`;
  expect(err).toContain(text);
  expect(err).not.toMatch(RAW);
});

test('the command rejects a FIRESTORE_EMULATOR_HOST without a port', async () => {
  process.env['FIRESTORE_EMULATOR_HOST'] = 'localhost';
  const { code, err } = await runCommand('list');
  expect([code, err]).toEqual([1, 'FIRESTORE_EMULATOR_HOST is localhost, but must be host:port.\n']);
});

test('an empty FIRESTORE_EMULATOR_HOST or GOOGLE_CLOUD_PROJECT counts as unset', () => {
  Object.assign(process.env, { FIRESTORE_EMULATOR_HOST: '', GOOGLE_CLOUD_PROJECT: '', GCLOUD_PROJECT: 'other' });
  expect(resolveTarget({ project: 'demo-price-lists' })).toMatchObject({ address: '127.0.0.1:8080' });
  expect(resolveTarget({ project: 'production' })).toMatchObject({ address: undefined });
  expect(resolveTarget({})).toMatchObject({ project: 'other' });
});

describe('the default project of .firebaserc', () => {
  const folder = process.cwd();
  beforeEach(() => {
    Object.assign(process.env, { GOOGLE_CLOUD_PROJECT: '', GCLOUD_PROJECT: '' });
    process.chdir(temporaryFolder());
  });
  afterEach(() => process.chdir(folder));
  afterAll(cleanUp);

  test('is used, even after a byte order mark', () => {
    writeFileSync('.firebaserc', '\ufeff{"projects":{"default":"mine","other":"theirs"},"targets":{}}');
    expect(resolveTarget({}).project).toBe('mine');
  });

  test.each([
    '',
    '{',
    'null',
    '7',
    '[]',
    '{}',
    '{"projects":null}',
    '{"projects":{}}',
    '{"projects":{"default":7}}',
    '{"projects":{"default":""}}',
  ])('is missing from %j, and the command says that no project is set', async (text) => {
    writeFileSync('.firebaserc', text);
    const { code, out, err } = await runCommand('list');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^No project is set, and this folder has no \.firebaserc with a default project\. .*\n$/);
  });
});

test.each(['FIRESTORE_PREFER_REST', 'GOOGLE_SDK_NODE_LOGGING', 'GOOGLE_API_USE_CLIENT_CERTIFICATE', 'GAE_SERVICE'])(
  "the command ignores %s, a variable of Google's libraries",
  async (name) => {
    process.env[name] = name.endsWith('LOGGING') ? '*' : 'true';
    const { code, err } = await runCommand('list');
    expect([code, err]).toEqual([0, expect.stringMatching(/^Project [^\n]*\n\n$/)]);
  },
);

test('if the file of GOOGLE_APPLICATION_CREDENTIALS does not exist, the command names the file within 15 s', async () => {
  process.env['FIRESTORE_EMULATOR_HOST'] = '';
  const file = '/none/credentials.json';
  process.env['GOOGLE_APPLICATION_CREDENTIALS'] = file;
  const startedAt = performance.now();
  const { code, out, err } = await runCommand('list', '--project', 'production');
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/^No usable Google credentials were found: \w.*\. /m);
  expect(err).toContain(
    `If the network works, correct the file ${file}, which GOOGLE_APPLICATION_CREDENTIALS names, or unset that variable.`,
  );
  expect(err).not.toMatch(RAW);
  expect(err).not.toContain('gcloud');
});

test('without credentials for production, the error names the command that signs in', () => {
  process.env['GOOGLE_APPLICATION_CREDENTIALS'] = '';
  expect(describeCredentials('Could not load the default credentials.')).toBe(
    'No usable Google credentials were found: Could not load the default credentials. ' +
      'If the network works, run: gcloud auth application-default login',
  );
});

const LOCAL: Target = { ...PRODUCTION, address: NOWHERE };

test.each([
  [LOCAL, 3, 'INVALID_ARGUMENT', 'Invalid project', 'Firestore rejected the call: '],
  [
    PRODUCTION,
    7,
    'PERMISSION_DENIED',
    'Missing or insufficient permissions',
    'Check --project and the role of the account in use: roles/datastore.viewer',
  ],
  [
    PRODUCTION,
    7,
    'PERMISSION_DENIED',
    'Cloud Firestore API has not been used in project 7 before or it is disabled',
    '',
  ],
  [PRODUCTION, 5, 'NOT_FOUND', 'The database x does not exist for project y', 'Firestore rejected the call: '],
] as const)(
  'at target %j, for error %i %s the command prints what Firestore said: %s',
  async (target, code, name, said, hint) => {
    const error = Object.assign(new Error(`${code} ${name}: ${said}.`), { code });
    const text = await getReadError(target, () => Promise.reject(error));
    expect(text).toContain(`${said}.`);
    expect(text).toContain(hint);
    expect(text.includes('roles/')).toBe(hint.includes('roles/'));
    expect(text).not.toMatch(RAW);
  },
);

test.each([
  [PRODUCTION, /^Firestore gave no result .*Check the network, --project,/],
  [LOCAL, /^No Firestore responds at .*Start the local service/],
])('if the database at target %j does not respond, the command says so after 8 s', async (target, message) => {
  expect(await getReadError(target, () => new Promise<never>(() => undefined))).toMatch(message);
});

/** Runs `assertReadable` with this `getAll`, and with 8 ms instead of its timeout of 8 s. @returns the message of its error */
async function getReadError(target: Target, getAll: () => Promise<never>): Promise<string> {
  const clock: typeof systemClock = {
    ...systemClock,
    createTimeout: (ms, ...others) => {
      expect(ms).toBe(8_000);
      return systemClock.createTimeout(8, ...others);
    },
  };
  const context = { ...createWorkContext(new AbortController().signal), clock };
  const db = Object.assign(new Database(service.db, context), { getAll });
  return assertReadable(target, db, context).then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? error.message : 'not an error'),
  );
}

test('the command reaches a local database even if proxies are set', async () => {
  for (const name of ['http_proxy', 'https_proxy', 'grpc_proxy']) process.env[name] = `http://${NOWHERE}`;
  const { code, out } = await runCommand('list');
  expect([code, out]).toEqual([0, 'No readable key needs an operator.\nNo attempt is in progress.\n']);
});
