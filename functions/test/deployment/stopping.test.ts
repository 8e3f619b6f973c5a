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

/** A process over a Firestore of its own: the tests mostly wait, so they run side by side. */
class Instance {
  readonly db: Firestore;
  #deployed: DeployedFunction | undefined;

  constructor(readonly firestore: EmbeddedFirestore) {
    this.db = new Firestore({ projectId: PROJECT, host: firestore.address, ssl: false });
  }

  start = async (name: OperationName | 'sweepPriceLists'): Promise<void> => {
    this.#deployed = await startDeployedFunction(DEPLOY_PACKAGE, name, {
      API_KEY,
      CORS_ALLOWED_ORIGINS: '',
      FIRESTORE_EMULATOR_HOST: this.firestore.address,
      METADATA_SERVER_DETECTION: 'none',
    });
  };

  getPort = () => this.#deployed?.port ?? 0;

  stop = async () => this.#deployed?.stop();

  send = (name: OperationName, body?: unknown) =>
    sendRequest(this.getPort(), {
      method: operations[name].method,
      headers: HEADERS,
      body: body === undefined ? '' : JSON.stringify(body),
    });

  logged = (event: string) =>
    (this.#deployed?.output ?? [])
      .filter((line) => line.includes(`"event":"${event}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  createMarket = () =>
    this.db.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' });

  readStatuses = async (collection: string) =>
    (await this.db.collection(collection).get()).docs.map((document) => document.get('status') as unknown);
}

const testInstance = (title: string, run: (instance: Instance) => Promise<void>) =>
  test.concurrent(
    title,
    async () => {
      const firestore = await startFirestore({ indexes: readDeclaredIndexes() });
      const instance = new Instance(firestore);
      await run(instance);
      await instance.db.terminate();
      await firestore.close();
    },
    300_000,
  );

testInstance(
  'a read is finished, and the process exits with 0',
  async ({ firestore, db, start, stop, send, logged }) => {
    await start('getTeams');
    await db.doc('teams/team-1').set({ name: 'Team', country_iso: 'KEN' });
    const held = firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'delay', ms: 1_000 } });
    const response = send('getTeams');
    await held.fired;
    const exitCode = stop();
    expect(await response).toMatchObject({ status: 200, json: { count: 1 }, headers: { connection: 'close' } });
    expect(await exitCode).toBe(0);
    expect(logged('instance_stopping')).toMatchObject([{ severity: 'INFO', requests: 1 }]);
    expect(logged('instance_stopped')).toMatchObject([{ severity: 'INFO', unanswered: 0 }]);
    await expect(send('getTeams')).rejects.toThrow('ECONNREFUSED');
  },
);

const isEntryCommit = ({ request }: { request: { writes: readonly { name: string }[] } }) =>
  request.writes.some(({ name }) => name.includes('/products/'));

testInstance(
  'a creation under way is completed; one that comes after the signal is rejected, and claims nothing',
  async ({ firestore, start, getPort, stop, send, logged, createMarket, readStatuses }) => {
    await start('addPriceLists');
    await createMarket();
    const held = firestore.faults.inject({ rpc: 'Commit', match: isEntryCommit, action: { kind: 'delay', ms: 1_000 } });
    const response = send('addPriceLists', createPriceListBody(2));
    await held.fired;
    const late = JSON.stringify(createPriceListBody(2, { boq_list_id: 'late' }));
    const socket = connect(getPort(), '127.0.0.1');
    const head = Object.entries({ ...HEADERS, 'content-length': late.length }).map((header) => header.join(': '));
    await new Promise((resolve) =>
      socket.write(['POST / HTTP/1.1', 'host: service', ...head, ''].join('\r\n'), resolve),
    );
    await send('addPriceLists', {});
    const exitCode = stop();
    await waitFor(() => logged('instance_stopping').length > 0);
    socket.write(`\r\n${late}`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 500 .*\r\nConnection: close\r\n/s);
    expect(await response).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await exitCode).toBe(0);
    expect(await readStatuses('price_list_idempotency')).toEqual(['completed']);
  },
);

testInstance(
  'a creation that is not over after 5 s fails: a response, failed lists, and a key that can be resumed',
  async ({ firestore, start, stop, send, logged, createMarket, readStatuses }) => {
    await start('addPriceLists');
    await createMarket();
    const action = { kind: 'hang' } as const;
    const entries = firestore.faults.inject({ rpc: 'Commit', nth: 3, times: Infinity, match: isEntryCommit, action });
    const response = send('addPriceLists', createPriceListBody(2_000));
    await entries.fired;
    const startedAt = performance.now();
    const exitCode = stop();

    const { status, headers, json: body } = await response;
    const tookMs = performance.now() - startedAt;
    // The sweep resumes it.
    expect([status, headers.connection, headers['retry-after']]).toEqual([500, 'close', AFTER_NEXT_SWEEP]);
    expect(body).toEqual({ error: expect.any(String) as string });
    expect(tookMs).toBeGreaterThan(4_900);
    expect(tookMs).toBeLessThan(8_000);
    expect(await exitCode).toBe(0);
    expect(logged('request')).toMatchObject([{ operation: 'addPriceLists', status: 500 }]);
    expect(logged('price_list_failed')).toMatchObject([
      { reason: expect.stringContaining('instance is stopping') as string },
    ]);
    expect(logged('instance_stopped')).toMatchObject([{ unanswered: 0 }]);
    expect(await readStatuses('price_lists')).toEqual(['failed']);
    expect(await readStatuses('expected_forward_costs')).toEqual(['failed']);
    expect(await readStatuses('price_list_idempotency')).toEqual(['requires_review']);
  },
);

testInstance(
  'a creation whose failure cannot be stored gets its response within 8 s, and the log says why',
  async ({ firestore, start, stop, send, logged, createMarket }) => {
    await start('addPriceLists');
    await createMarket();
    const action = { kind: 'hang' } as const;
    const entries = firestore.faults.inject({ rpc: 'Commit', match: isEntryCommit, times: Infinity, action });
    const response = send('addPriceLists', createPriceListBody(2));
    await entries.fired;
    firestore.faults.inject({ rpc: 'BatchGetDocuments', times: Infinity, action });
    const startedAt = performance.now();
    const exitCode = stop();
    expect(await response).toMatchObject({ status: 500, headers: { 'retry-after': expect.any(String) as string } });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    expect(await exitCode).toBe(0);
    expect(logged('price_list_failed')).toMatchObject([
      { reason: expect.stringContaining('the failure could not be stored') as string },
    ]);
  },
);

/** Makes attempts that are due. */
async function failCreations(instance: Instance, count: number): Promise<void> {
  const { firestore, db, start, stop, send, createMarket } = instance;
  await start('addPriceLists');
  await createMarket();
  const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
  const rejected = firestore.faults.inject({ rpc: 'Commit', match: isEntryCommit, times: Infinity, action });
  for (let i = 0; i < count; i += 1) {
    const body = createPriceListBody(2, { boq_list_id: `list-${i}` });
    expect((await send('addPriceLists', body)).status).toBe(500);
  }
  await stop();
  rejected.remove();
  const keys = await db.collection('price_list_idempotency').get();
  for (const { ref } of keys.docs) await updateKey(ref, { failure_cause: 'stopped' });
}

testInstance('a sweep ends what it resumes, and begins with nothing more', async (instance) => {
  const { firestore, start, getPort, stop, logged, readStatuses } = instance;
  await failCreations(instance, 5);
  await start('sweepPriceLists');
  const action = { kind: 'delay', ms: 1_000 } as const;
  const entries = firestore.faults.inject({ rpc: 'Commit', match: isEntryCommit, action });
  const response = sendRequest(getPort(), { method: 'POST', headers: {}, body: '' });
  await entries.fired;
  const exitCode = stop();
  expect((await response).status).toBe(200);
  expect(await exitCode).toBe(0);
  expect(logged('sweep_ended')).toMatchObject([{ interrupted: true, resumed: 4, deferred: 0 }]);
  expect((await readStatuses('price_list_idempotency')).sort()).toEqual([
    ...Array<string>(4).fill('completed'),
    'requires_review',
  ]);
});

testInstance('a sweep gives back what it has not resumed after 5 s, and ends', async (instance) => {
  const { firestore, db, start, getPort, stop, logged } = instance;
  await failCreations(instance, 1);
  await start('sweepPriceLists');
  const action = { kind: 'hang' } as const;
  const entries = firestore.faults.inject({ rpc: 'Commit', match: isEntryCommit, times: Infinity, action });
  const response = sendRequest(getPort(), { method: 'POST', headers: {}, body: '' });
  await entries.fired;
  const exitCode = stop();
  expect((await response).status).toBe(200);
  expect(await exitCode).toBe(0);
  expect(logged('sweep_ended')).toMatchObject([{ interrupted: true, deferred: 1, resumed: 0 }]);
  const [key] = (await db.collection('price_list_idempotency').get()).docs;
  const given = { status: 'requires_review', failure_cause: 'stopped', automatic_resumes: 0, actions: [] };
  expect(key?.data()).toMatchObject(given);
});

testInstance(
  'a creation whose body is arriving gets an error response, and claims nothing',
  async ({ db, start, getPort, stop, send }) => {
    await start('addPriceLists');
    const headers = { ...HEADERS, 'content-length': '1000' };
    const { request, response } = openRequest(getPort(), { method: 'POST', headers });
    await new Promise((resolve) => request.write('{"info":', resolve));
    await send('addPriceLists', {});
    const exitCode = stop();
    expect(await response).toMatchObject({ status: 500, json: { error: 'Internal error' } });
    request.destroy();
    expect(await exitCode).toBe(0);
    expect((await db.collection('price_list_idempotency').get()).size).toBe(0);
  },
);

testInstance(
  'a request whose head is complete only after the signal gets its response, and no other connection is accepted',
  async ({ firestore, start, getPort, stop, send, logged }) => {
    await start('getTeams');
    const held = firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'delay', ms: 1_500 } });
    const slow = send('getTeams');
    await held.fired;
    const socket = connect(getPort(), '127.0.0.1');
    await new Promise((resolve) =>
      socket.write(`GET / HTTP/1.1\r\nHost: service\r\nx-api-key: ${API_KEY}\r\n`, resolve),
    );
    await send('getTeams');
    const exitCode = stop();
    await waitFor(() => logged('instance_stopping').length > 0);
    await expect(send('getTeams')).rejects.toThrow('ECONNREFUSED');
    socket.write('\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)?Connection: close\r\n/s);
    expect(await slow).toMatchObject({ status: 200 });
    expect(await exitCode).toBe(0);
  },
);
