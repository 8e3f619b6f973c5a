import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { addPriceLists } from '../../src/add-price-lists';
import { getMarkets } from '../../src/get-markets';
import { CHANNEL_OPTIONS } from '../../src/lib/firestore/connection';
import { useFirestoreEmulator } from '../support/firestore';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

/** A connection goes silent, or the server is unreachable for a while. The channels use shorter times than in production. */

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

beforeAll(async () => {
  // Fractions of the real times, so that a time that is far too long still fails a test.
  for (const [option, ms] of Object.entries(CHANNEL_OPTIONS))
    jest.replaceProperty(CHANNEL_OPTIONS, option as keyof typeof CHANNEL_OPTIONS, ms / 50);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  useFirestoreEmulator(`127.0.0.1:${(proxy.address() as AddressInfo).port}`, 'demo-price-lists');
});

beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
  expect(await callBoth()).toEqual([200, 200]);
});

afterAll(() => {
  proxy.close();
  disconnect();
});

let keys = 0;

/** Sends a read, which uses the service's own channel, and a creation, which also uses the SDK's channel. */
async function callBoth(): Promise<number[]> {
  keys += 1;
  const json = createPriceListBody(1, { boq_list_id: `boq-${keys}` });
  const responses = await Promise.all([service.call('getMarkets'), service.call('addPriceLists', { json })]);
  return responses.map(({ status }) => status);
}

test('a connection that goes silent is replaced, and the calls return 200', async () => {
  silence();
  const start = performance.now();
  expect(await callBoth()).toEqual([200, 200]);
  // Without keepalive, the read would wait for the timeout of a query, 45 s.
  expect(performance.now() - start).toBeLessThan(40_000);
});

test('an outage ends in 200 for calls that began in it, and connections are tried often until then', async () => {
  isOutOfReach = true;
  disconnect();
  const start = performance.now();
  const before = attempts;
  const statuses = callBoth();
  while (attempts < before + 20) await delay(50);
  // With gRPC's default backoff, two channels need almost two minutes for twenty attempts.
  expect(performance.now() - start).toBeLessThan(60_000);
  isOutOfReach = false;
  expect(await statuses).toEqual([200, 200]);
});
