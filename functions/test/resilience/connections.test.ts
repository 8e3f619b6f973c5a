import { setTimeout as delay } from 'node:timers/promises';
import { addPriceLists } from '../../src/add-price-lists';
import { getMarkets } from '../../src/get-markets';
import { CHANNEL_OPTIONS } from '../../src/lib/firestore/connection';
import { useFirestoreEmulator } from '../support/firestore';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

/** Connections that die without a word, and servers that are out of reach for a while. Time is compressed. */

const service = useTestService({ addPriceLists, getMarkets });
let proxy: TcpProxy;

beforeAll(async () => {
  jest.replaceProperty(CHANNEL_OPTIONS, 'grpc.keepalive_time_ms', 400);
  jest.replaceProperty(CHANNEL_OPTIONS, 'grpc.keepalive_timeout_ms', 200);
  jest.replaceProperty(CHANNEL_OPTIONS, 'grpc.max_reconnect_backoff_ms', 200);
  proxy = await startTcpProxy(service.firestore.port);
  useFirestoreEmulator(`127.0.0.1:${proxy.port}`, 'demo-price-lists');
});

beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
  expect(await callBoth()).toEqual([200, 200]);
});

afterAll(async () => {
  await proxy.close();
});

let keys = 0;

/** A read, on the service's own channel, and a creation, which is on that of the Firestore SDK too. */
async function callBoth(): Promise<number[]> {
  keys += 1;
  const json = createPriceListBody(1, { boq_list_id: `boq-${keys}` });
  const responses = await Promise.all([service.call('getMarkets'), service.call('addPriceLists', { json })]);
  return responses.map(({ status }) => status);
}

describe('a connection that goes silent', () => {
  test.each([
    ['between two calls', 0],
    ['while it is idle', 600],
  ])(
    '%s is replaced, and the calls return 200',
    async (_, idleMs) => {
      await delay(idleMs);
      proxy.silence();
      const start = performance.now();
      expect(await callBoth()).toEqual([200, 200]);
      // Without keepalive it is the deadline of a query, after 45 s.
      expect(performance.now() - start).toBeLessThan(15_000);
    },
    300_000,
  );
});

test('an outage ends in 200 for calls that began in it, and connections are tried often until then', async () => {
  proxy.interrupt();
  const start = performance.now();
  const attempts = proxy.attempts.length;
  const statuses = callBoth();
  while (proxy.attempts.length < attempts + 12) await delay(50);
  // By gRPC's own backoff, which reaches 120 s, the twelfth attempt of two channels comes after 15 s.
  expect(performance.now() - start).toBeLessThan(10_000);
  proxy.restore();
  expect(await statuses).toEqual([200, 200]);
}, 300_000);
