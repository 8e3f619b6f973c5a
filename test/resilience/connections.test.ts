import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Call } from '../../emulator/src';
import { addPriceLists } from '../../functions/src/add-price-lists';
import { getMarkets } from '../../functions/src/get-markets';
import { CHANNEL_OPTIONS } from '../../functions/src/lib/firestore/connection';
import { getDatabase } from '../../functions/src/lib/firestore/database';
import { keyDocumentId } from '../../functions/src/lib/schemas/key-record';
import { CALL_TIMEOUTS_MS, RETRY_MS } from '../../functions/src/lib/time-limits';
import { createWorkContext } from '../../functions/src/lib/work-context';
import { sweep, type SweepResult } from '../../functions/src/price-lists/sweep';
import { isClaim, isEntries, isKeyEvent } from '../harness/commits';
import { TEST_PROJECT, useFirestoreEmulator } from '../harness/firestore';
import { CRASHED } from '../harness/failed-attempts';
import { updateKey, writeMarket } from '../harness/price-lists';
import { useTestService } from '../harness/service';
import { createPriceListBody } from '../harness/submissions';
import { waitUntilFired } from '../harness/wait-for';

/**
 * A connection goes silent, or the server is unreachable for a while. In the test of silence, the time limits of channels,
 * calls and retries are shorter than in production by the same factor, so the test shows whether retries last longer than
 * it takes to replace the connection.
 */

const SPEED = 10;

const service = useTestService({ addPriceLists, getMarkets });

/** The two sockets of each proxied connection. */
const pairs = new Set<readonly [Socket, Socket]>();
let attempts = 0;
let isOutOfReach = false;

/** A TCP proxy in front of Firestore. */
const proxy = createServer((client) => {
  attempts += 1;
  if (isOutOfReach) {
    client.destroy();
    return;
  }
  const target = connect(service.firestore.port, '127.0.0.1');
  const pair = [client, target] as const;
  pairs.add(pair);
  for (const socket of pair) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      pairs.delete(pair);
      for (const each of pair) each.destroy();
    });
  }
  client.pipe(target).pipe(client);
});

const disconnect = () => pairs.forEach(([client]) => client.destroy());

/** Drops all further bytes of the open connections, without closing them. */
function silence(): void {
  for (const [client, target] of pairs) {
    client.unpipe(target).resume();
    target.unpipe(client).resume();
  }
}

function speedUp(limits: Record<string, number>): void {
  for (const [name, ms] of Object.entries(limits)) jest.replaceProperty(limits, name, ms / SPEED);
}

const read = async () => (await service.call('getMarkets')).status;

const create = async (boq_list_id: string) =>
  (await service.call('addPriceLists', { json: createPriceListBody(1, { boq_list_id }) })).status;

/** Sends a read, which uses the service's own channel, and a creation, which uses the SDK's channel. */
const callBoth = (key: string) => Promise.all([read(), create(key)]);

/** Runs a sweep. @returns its results, without the keys */
async function runSweep(): Promise<string[]> {
  const context = createWorkContext(new AbortController().signal);
  const results: string[] = [];
  const onResult = ({ result }: SweepResult) => void results.push(result);
  await sweep(getDatabase(context), { onResult, onUnreadable: () => undefined });
  return results;
}

beforeAll(async () => {
  for (const limits of [CHANNEL_OPTIONS, CALL_TIMEOUTS_MS, RETRY_MS]) speedUp(limits);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  useFirestoreEmulator(`127.0.0.1:${(proxy.address() as AddressInfo).port}`, TEST_PROJECT);
});

beforeEach(async () => {
  await writeMarket(service.db);
  expect(await callBoth('first')).toEqual([200, 200]);
});

afterAll(() => {
  proxy.close();
  disconnect();
});

const { promise: silent, resolve: release } = Promise.withResolvers<undefined>();

/** Holds the response of a call that has taken effect, until the connection is silent. */
const hold = <K extends 'Commit' | 'RunQuery'>(rpc: K, match: (call: Call<K>) => boolean) =>
  service.firestore.faults.inject({ rpc, match, when: 'after', action: { kind: 'call', run: () => silent } });

const holdQuery = (collection: string) => hold('RunQuery', ({ request }) => request.query.collectionId === collection);

test('a connection that goes silent is replaced before the retries end, for commits and for queries', async () => {
  await create('crashed');
  const crashed = service.db.doc(`price_list_idempotency/${keyDocumentId('crashed')}`);
  await updateKey(crashed, { ...CRASHED, response: null });
  const results: Record<string, unknown> = {};
  const running: Promise<unknown>[] = [];
  for (const [name, holdCall, work] of [
    ['completion', () => hold('Commit', isKeyEvent), () => create('completion')],
    ['batch of entries', () => hold('Commit', isEntries), () => create('entries')],
    ['claim', () => hold('Commit', isClaim), () => create('claim')],
    ['read', () => holdQuery('markets'), read],
    ['sweep', () => holdQuery('price_list_idempotency'), runSweep],
  ] as const) {
    const held = holdCall();
    const result: Promise<unknown> = work().catch((error: unknown) => error);
    running.push(result.then((value) => (results[name] = value)));
    await waitUntilFired(held, result);
  }
  silence();
  release(undefined);
  await Promise.all(running);
  expect(results).toEqual({ completion: 200, 'batch of entries': 200, claim: 200, read: 200, sweep: ['resumed'] });
});

test.each([
  ['read', read],
  ['creation', () => create('outage')],
])(
  'a %s that began in an outage gets 200 when the outage ends, and its channel tries to connect often until then',
  async (_, call) => {
    // Retries last as long as in production, so they outlast this outage. The test does not check how long they last.
    RETRY_MS.outage = 60_000;
    isOutOfReach = true;
    disconnect();
    const start = performance.now();
    const before = attempts;
    const status = call();
    while (attempts < before + 5) await delay(50);
    // With gRPC's default backoff, five attempts to connect need about 9 s.
    expect(performance.now() - start).toBeLessThan(6_000);
    isOutOfReach = false;
    expect(await status).toBe(200);
  },
);
