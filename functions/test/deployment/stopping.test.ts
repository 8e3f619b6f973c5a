import { AFTER_NEXT_SWEEP, updateKey } from '../support/price-lists';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { openRequest, sendRequest } from '../support/http';
import { operations, type OperationName } from '../support/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';
import { createPriceListBody } from '../support/submissions';
import { waitFor } from '../support/wait-for';
import { DEPLOY_PACKAGE, PROJECT, startDeployedFunction, type DeployedFunction } from './deployed';

/** What becomes of requests in progress when the platform stops an instance with SIGTERM, 10 s before SIGKILL. */

const API_KEY = 'test-key-1';
const HEADERS = { 'x-api-key': API_KEY, 'content-type': 'application/json' };

let firestore: EmbeddedFirestore;
let db: Firestore;
let deployed: DeployedFunction;

beforeEach(async () => {
  firestore = await startFirestore({ indexes: readDeclaredIndexes() });
  db = new Firestore({ projectId: PROJECT, host: firestore.address, ssl: false });
});

afterEach(async () => {
  await db.terminate();
  await firestore.close();
});

async function start(name: OperationName | 'sweepPriceLists'): Promise<void> {
  deployed = await startDeployedFunction(DEPLOY_PACKAGE, name, {
    API_KEY,
    CORS_ALLOWED_ORIGINS: '',
    FIRESTORE_EMULATOR_HOST: firestore.address,
    METADATA_SERVER_DETECTION: 'none',
  });
}

function send(name: OperationName, body?: unknown) {
  return sendRequest(deployed.port, {
    method: operations[name].method,
    headers: HEADERS,
    body: body === undefined ? '' : JSON.stringify(body),
  });
}

const logged = (event: string) =>
  deployed.output
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('a read is finished, and the process exits with 0', async () => {
  await start('getTeams');
  await db.doc('teams/team-1').set({ name: 'Team', country_iso: 'KEN' });
  const held = firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'delay', ms: 1_000 } });
  const response = send('getTeams');
  await held.fired;
  const exitCode = deployed.stop();
  expect(await response).toMatchObject({ status: 200, json: { count: 1 }, headers: { connection: 'close' } });
  expect(await exitCode).toBe(0);
  expect(logged('instance_stopping')).toMatchObject([{ severity: 'INFO', requests: 1 }]);
  expect(logged('instance_stopped')).toMatchObject([{ severity: 'INFO', unanswered: 0 }]);
  await expect(send('getTeams')).rejects.toThrow('ECONNREFUSED');
}, 300_000);

test('a creation ends by its failure path: a response, failed lists, and a key that can be resumed', async () => {
  await start('addPriceLists');
  await db.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' });
  const entries = firestore.faults.inject({
    rpc: 'Commit',
    nth: 3,
    times: Infinity,
    match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
    action: { kind: 'hang' },
  });
  const response = send('addPriceLists', createPriceListBody(2_000));
  await entries.fired;
  const startedAt = performance.now();
  const exitCode = deployed.stop();

  const { status, headers, json: body } = await response;
  // The sweep resumes it.
  expect([status, headers.connection, headers['retry-after']]).toEqual([500, 'close', AFTER_NEXT_SWEEP]);
  expect(body).toEqual({ error: expect.any(String) as string });
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  expect(await exitCode).toBe(0);
  expect(logged('request')).toMatchObject([{ operation: 'addPriceLists', status: 500 }]);
  expect(logged('price_list_failed')).toMatchObject([
    { reason: expect.stringContaining('instance is stopping') as string },
  ]);
  expect(logged('instance_stopped')).toMatchObject([{ unanswered: 0 }]);
  for (const collection of ['price_lists', 'expected_forward_costs']) {
    const lists = await db.collection(collection).get();
    expect(lists.docs.map((list) => list.get('status') as unknown)).toEqual(['failed']);
  }
  const keys = await db.collection('price_list_idempotency').get();
  expect(keys.docs.map((key) => key.get('status') as unknown)).toEqual(['requires_review']);
}, 300_000);

test('a sweep gives back what it resumes, and ends', async () => {
  const isEntry = ({ request }: { request: { writes: readonly { name: string }[] } }) =>
    request.writes.some(({ name }) => name.includes('/products/'));
  await start('addPriceLists');
  await db.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' });
  const rejected = firestore.faults.inject({
    rpc: 'Commit',
    match: isEntry,
    times: Infinity,
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  expect((await send('addPriceLists', createPriceListBody(2_000))).status).toBe(500);
  await deployed.stop();
  rejected.remove();
  const [key] = (await db.collection('price_list_idempotency').get()).docs;
  if (key === undefined) throw new Error('there is no key');
  await updateKey(key.ref, { failure_cause: 'stopped' });

  await start('sweepPriceLists');
  const entries = firestore.faults.inject({ rpc: 'Commit', match: isEntry, times: Infinity, action: { kind: 'hang' } });
  const response = sendRequest(deployed.port, { method: 'POST', headers: {}, body: '' });
  await entries.fired;
  const exitCode = deployed.stop();
  expect((await response).status).toBe(200);
  expect(await exitCode).toBe(0);
  expect(logged('sweep_ended')).toMatchObject([{ interrupted: true, deferred: 1, resumed: 0 }]);
  const given = { status: 'requires_review', failure_cause: 'stopped', automatic_resumes: 0, actions: [] };
  expect((await key.ref.get()).data()).toMatchObject(given);
}, 300_000);

test('a creation whose body is arriving gets an error response, and claims nothing', async () => {
  await start('addPriceLists');
  const headers = { ...HEADERS, 'content-length': '1000' };
  const { request, response } = openRequest(deployed.port, { method: 'POST', headers });
  await new Promise((resolve) => request.write('{"info":', resolve));
  await send('addPriceLists', {});
  const exitCode = deployed.stop();
  expect(await response).toMatchObject({ status: 500, json: { error: 'Internal error' } });
  request.destroy();
  expect(await exitCode).toBe(0);
  expect((await db.collection('price_list_idempotency').get()).size).toBe(0);
}, 300_000);

test('a request whose head is complete only after the signal gets its response, and no other connection is accepted', async () => {
  await start('getTeams');
  const held = firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'delay', ms: 1_500 } });
  const slow = send('getTeams');
  await held.fired;
  const socket = connect(deployed.port, '127.0.0.1');
  await new Promise((resolve) => socket.write(`GET / HTTP/1.1\r\nHost: service\r\nx-api-key: ${API_KEY}\r\n`, resolve));
  await send('getTeams');
  const exitCode = deployed.stop();
  await waitFor(() => logged('instance_stopping').length > 0);
  await expect(send('getTeams')).rejects.toThrow('ECONNREFUSED');
  socket.write('\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)?Connection: close\r\n/s);
  expect(await slow).toMatchObject({ status: 200 });
  expect(await exitCode).toBe(0);
}, 300_000);
