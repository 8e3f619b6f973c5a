import { rmSync } from 'node:fs';
import { startTestFirestore } from '../harness/firestore';
import { openRequest } from '../../dev/run/http';
import { operationNames } from '../../dev/run/operations';
import {
  call,
  cleanUp,
  PROJECT,
  createFirestoreClient,
  isGroupRunning,
  startLocalServer,
  startExpectingFailure,
  temporaryFolder,
  type LocalServer,
} from '../harness/local-server';
import { runProgram } from '../../dev/run/programs';

/**
 * Tests the interface of `npm start`: the variables in the table of CONTRIBUTING.md#local-environment-variables, and
 * how it starts and stops. Some tests that need no ready server run concurrently.
 */

afterAll(cleanUp);

const key = { 'x-api-key': 'local-dev-key' };

interface Body {
  count: number;
  [collection: string]: unknown;
}

const count = (text: string) => (JSON.parse(text) as Body).count;

/** Lists the fields that are null in all records of a response, because dev/sample/records.ts has no value for them. */
function listEmptyFields(text: string): string[] {
  const records = Object.values(JSON.parse(text) as Body).find((value) => typeof value === 'object') ?? {};
  const hasValue = new Map<string, boolean>();
  const visit = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) hasValue.set(path, hasValue.get(path) === true || value !== null);
    else
      for (const [name, inner] of Object.entries(value)) visit(inner, Array.isArray(value) ? path : `${path}.${name}`);
  };
  for (const record of Object.values(records)) visit(record, '');
  return [...hasValue].flatMap(([path, isFilled]) => (isFilled ? [] : [path]));
}

describe('npm start', () => {
  const dataDir = temporaryFolder();
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer({ DATA_DIR: dataDir, API_KEY: undefined, CORS_ALLOWED_ORIGINS: undefined });
  });

  test('prints the calls, then the addresses and settings, and last the line that says where it is ready', () => {
    const lines = local.printed.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/^Ready at http:\/\/127\.0\.0\.1:[1-9]\d+ in \d+\.\d s\. /);
    expect(local.printed.lastIndexOf('curl ')).toBeLessThan(local.printed.indexOf('Functions'));
    expect(local.printed).toContain('local-dev-key');
    expect(local.printed).toContain('http://localhost:3000');
    expect(local.printed).toContain(dataDir);
    expect(local.address('getTeams')).toMatch(
      /^http:\/\/127\.0\.0\.1:[1-9]\d+\/demo-price-lists\/us-central1\/getTeams$/,
    );
    expect(local.firestoreAddress).toMatch(/^127\.0\.0\.1:[1-9]\d+$/);
  });

  test.each(operationNames)('the printed call of %s succeeds', async (operation) => {
    const command = local.printed.split('\n').find((line) => line.startsWith('curl') && line.endsWith(operation)) ?? '';
    const { stdout } = await runProgram('sh', ['-c', `${command} -sf`]);
    const [body = '', ...rest] = stdout.split('\n');
    // The output ends with a line break, so that the shell's next prompt has its own line.
    expect(rest).toEqual(['']);
    if (operation === 'addPriceLists') expect(JSON.parse(body)).toMatchObject({ success: true });
    else if (count(body) === 0) throw new Error(`dev/sample/records.ts has no records that ${operation} returns`);
    else expect([operation, listEmptyFields(body)]).toEqual([operation, []]);
  });

  test.each([
    ['FUNCTIONS_PORT', () => new URL(local.address('getTeams')).port],
    ['FIRESTORE_PORT', () => local.firestoreAddress.split(':')[1] ?? ''],
  ])('ends with one line that names the variable if the port in %s is taken', async (name, port) => {
    const { code, stdout, stderr } = await startExpectingFailure({ [name]: port() });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^.*port ${port()} is taken.*\\n$`, 'i'));
    expect(stderr).toContain(name);
  });

  test('ends with exit code 0 after Ctrl-C, and finds its data at the next start', async () => {
    const db = createFirestoreClient(local.firestoreAddress);
    await db.doc('teams/team-islands').delete();
    await db.doc('teams/team-mine').set({ name: 'Mine', country_iso: 'FRA' });
    await db.terminate();
    const ended = await local.stop();
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.stdout).toMatch(/\nStopped\. The data stays in \S+ for the next start\. .*\n$/);

    const again = await startLocalServer({ DATA_DIR: dataDir });
    const { text } = await call(again.address('getTeams'), { headers: key });
    expect(again.printed).toContain('no sample records added, because the database has data');
    expect(text).toContain('team-mine');
    expect(text).not.toContain('team-islands');
    expect(await again.stop()).toMatchObject({ code: 0 });
  });
});

test('the last line of npm start says that the data is gone if its folder was deleted', async () => {
  const dataDir = temporaryFolder();
  const local = await startLocalServer({ DATA_DIR: dataDir });
  rmSync(dataDir, { recursive: true });
  expect((await local.stop()).stdout).toMatch(/\nStopped\. \S+ was deleted, and the data is gone\.\n$/);
});

test('the server of npm start ends with npm, although the shell between them passes no signal on', async () => {
  const local = await startLocalServer({}, ['npm', 'start']);
  process.kill(local.pid, 'SIGTERM');
  // The server holds npm's output open, so `ended` waits for npm and the server.
  expect((await local.ended).stdout).toContain('Stopped.');
});

describe('npm start with no sample data, no API key and no allowed origins', () => {
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer({ SAMPLE_DATA: 'false', API_KEY: '', CORS_ALLOWED_ORIGINS: '' });
  });
  afterAll(() => local.stop());

  test('an operation responds that the API key is not configured', async () => {
    expect(local.printed).toContain('not configured');
    const { status, text } = await call(local.address('getTeams'), { headers: { 'x-api-key': '' } });
    expect([status, text]).toEqual([500, '{"error":"API key is not configured"}']);
  });

  test('no origin is allowed, and nothing is stored', async () => {
    const headers = { origin: 'http://localhost:3000' };
    expect((await call(local.address('getWarehouses'), { method: 'OPTIONS', headers })).status).toBe(403);
    const db = createFirestoreClient(local.firestoreAddress);
    expect(await db.listCollections()).toEqual([]);
    await db.terminate();
  });
});

test('npm start uses and seeds the Firestore that FIRESTORE_EMULATOR_HOST names, and starts no other', async () => {
  const firestore = await startTestFirestore(PROJECT);
  const apiKey = "it's-a-key";
  const local = await startLocalServer({
    FIRESTORE_EMULATOR_HOST: firestore.address,
    DATA_DIR: '/dev/null/nowhere',
    API_KEY: `${apiKey}\nanother`,
  });
  expect(local.printed).toMatch(/API key +it's-a-key, another\n/);
  expect(local.firestoreAddress).toBe(firestore.address);
  const db = createFirestoreClient(firestore.address);
  expect((await db.collection('teams').count().get()).data().count).toBe(8);
  await db.terminate();

  const command = local.printed.split('\n').find((line) => /^curl.*getTeams$/.test(line)) ?? '';
  const { stdout } = await runProgram('sh', ['-c', `${command} -s`]);
  expect(count(stdout)).toBe(8);
  expect((await local.stop()).stdout).toContain(`Stopped. The data is in the Firestore at ${firestore.address}.`);
  await firestore.close();
});

test.concurrent.each([
  [
    { CORS_ALLOWED_ORIGINS: 'https://a.example,localhost:3000' },
    /^CORS_ALLOWED_ORIGINS: "localhost:3000" is not an origin as browsers send it.*\n$/,
  ],
  [{ WRITES_PAUSED: 'True' }, /^WRITES_PAUSED must be "true" or "false", not "True"\.\n$/],
])('the invalid setting %j ends npm start with one line, and no process is left', async (setting, line) => {
  const { code, stdout, stderr, pid } = await startExpectingFailure(setting);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(line);
  while (isGroupRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
});

test.concurrent(
  'npm start ends with one line that names FIRESTORE_EMULATOR_HOST if no Firestore responds there',
  async () => {
    const env = { FIRESTORE_EMULATOR_HOST: '127.0.0.1:1' };
    const { code, stdout, stderr } = await startExpectingFailure(env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^No Firestore responds at .* FIRESTORE_EMULATOR_HOST.*\n$/);
  },
);

/** Sends the head of a request, without the body that it announces. */
async function beginRequest(local: LocalServer) {
  const { port, pathname } = new URL(local.address('getOrdersByTeam'));
  const headers = { ...key, 'content-type': 'application/json', 'content-length': orders.length };
  const opened = openRequest(Number(port), { method: 'POST', path: pathname, headers });
  opened.request.flushHeaders();
  // When this second request has its response, the first has reached the service.
  await call(local.address('getTeams'), { headers: key });
  return opened;
}

const orders = JSON.stringify({
  team_id: 'team-east-africa',
  status: 'ALL',
  start_date: '2026-07-01',
  end_date: '2026-08-01',
});

describe('npm start with the settings of a shell for other projects and for a proxy', () => {
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer({
      FIREBASE_CONFIG: '{"projectId":"production"}',
      GOOGLE_CLOUD_PROJECT: 'production',
      GCLOUD_PROJECT: 'production',
      http_proxy: 'http://127.0.0.1:9',
      grpc_proxy: 'http://127.0.0.1:9',
      no_proxy: '',
    });
  });

  test('the settings change nothing', async () => {
    expect(count((await call(local.address('getTeams'), { headers: key })).text)).toBe(8);
    const db = createFirestoreClient(local.firestoreAddress);
    expect((await db.collection('teams').count().get()).data().count).toBe(8);
    await db.terminate();
  });

  test('SIGTERM stops npm start after the request in progress has its response', async () => {
    const { request, response } = await beginRequest(local);
    local.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 300));
    request.end(orders);
    expect(await response).toMatchObject({ status: 200 });
    expect(await local.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });
});

test('a second Ctrl-C ends npm start without waiting for a request in progress', async () => {
  const local = await startLocalServer({});
  const { response } = await beginRequest(local);
  const broken = expect(response).rejects.toThrow('socket hang up');
  local.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 800));
  local.kill('SIGINT');
  await broken;
  expect(await local.ended).toMatchObject({ code: 130, signal: null, stderr: '' });
});
