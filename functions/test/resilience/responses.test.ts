import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { addPriceLists } from '../../src/add-price-lists';
import { getTeams } from '../../src/get-teams';
import { createRequestContext } from '../../src/lib/request-context';
import { sendResponse } from '../../src/lib/http/response';
import { operations } from '../support/operations';
import { TEST_API_KEY, useTestService } from '../support/service';
import { writeRecords } from '../support/stored';
import { waitFor } from '../support/wait-for';

const service = useTestService({ addPriceLists, getTeams });

const NAME = 'é'.repeat(450_000);

/** Stores teams whose records take 900 kB each in the response. */
async function storeLargeTeams(count: number): Promise<void> {
  for (let start = 0; start < count; start += 10) {
    const ids = Array.from({ length: Math.min(10, count - start) }, (_, i) => `team-${start + i}`);
    await writeRecords(service.db, 'teams', Object.fromEntries(ids.map((id) => [id, { name: NAME }])));
  }
}

/** Sends a request for the teams. Nothing of its response is read until the test does. */
async function openUnread(): Promise<IncomingMessage> {
  const headers = { 'x-api-key': TEST_API_KEY };
  const opened = request({ host: '127.0.0.1', port: service.port('getTeams'), headers, agent: false }).end();
  const [incoming] = (await once(opened, 'response')) as [IncomingMessage];
  return incoming.on('error', () => undefined);
}

describe('a response of less than 30 MB', () => {
  beforeEach(() => service.reset());

  test('goes out in one piece, with its length', async () => {
    await storeLargeTeams(30);
    const { status, headers, bytes, json } = await service.call('getTeams');
    expect([status, headers['content-length']]).toEqual([200, String(bytes.length)]);
    expect(headers['transfer-encoding']).toBeUndefined();
    expect(json).toMatchObject({ count: 30 });
    // The client has it all before the service knows that, and writes its line.
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ status: 200 }]);
  });

  test('is no success in the log when the client leaves after its last byte was written, and before it was sent', async () => {
    await storeLargeTeams(30);
    const calls = service.recordCalls();
    const incoming = await openUnread();
    // The query has ended by then, and what the operating system does not buffer waits for the client.
    await waitFor(() => calls.length > 0);
    incoming.destroy();
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ severity: 'NOTICE', status: 499, client_gone: true }]);
  });
});

describe('a response of more than 30 MB', () => {
  beforeAll(async () => {
    service.reset();
    await storeLargeTeams(60);
  });
  beforeEach(() => {
    service.firestore.faults.clear();
    service.log.length = 0;
  });

  test('goes over to chunks, and arrives whole', async () => {
    const { status, headers, bytes, json } = await service.call('getTeams');
    expect([status, headers['content-length'], headers['transfer-encoding']]).toEqual([200, undefined, 'chunked']);
    expect(bytes.length).toBeGreaterThan(54_000_000);
    const { count, teams } = json as { count: number; teams: Record<string, { name: string }> };
    expect([count, Object.keys(teams).length]).toEqual([60, 60]);
    expect(Object.values(teams).every(({ name }) => name === NAME)).toBe(true);
  });

  test('that fails before its first byte is out is a clean 500', async () => {
    service.firestore.faults.inject({
      rpc: 'RunQuery',
      when: { messages: 15 },
      action: { kind: 'error', code: 'PERMISSION_DENIED', message: 'secret' },
    });
    const { status, headers, text } = await service.call('getTeams', { headers: { 'accept-encoding': 'gzip' } });
    expect([status, text]).toEqual([500, '{"error":"Internal error"}']);
    expect(headers['content-encoding']).toBeUndefined();
  });

  test('that fails after its first byte is out breaks the connection: never half of it as a whole', async () => {
    service.firestore.faults.inject({
      rpc: 'RunQuery',
      when: { messages: 58 },
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    await expect(service.call('getTeams')).rejects.toThrow(/aborted|socket hang up|ECONNRESET/);
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ event: 'request', status: 500, error_code: 'internal_error' }]);
  });

  test('ends its query when the client disconnects', async () => {
    const calls = service.recordCalls();
    const { request, response } = service.open('getTeams');
    request.on('response', (incoming) => incoming.once('data', () => request.destroy()));
    request.end();
    await expect(response).rejects.toThrow();
    await waitFor(() => service.log.length > 0 && calls.length > 0);
    expect(calls).toMatchObject([{ rpc: 'RunQuery', outcome: 'CANCELLED' }]);
    expect(service.log).toMatchObject([{ severity: 'NOTICE', status: 499, client_gone: true }]);
  });

  test('has a duration that includes the reading by a slow client', async () => {
    const incoming = await openUnread();
    const startedAt = performance.now();
    await delay(1_000);
    expect(service.log).toEqual([]);
    const unreadMs = performance.now() - startedAt;
    await once(incoming.resume(), 'end');
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ status: 200 }]);
    expect(service.log[0]?.['duration_ms']).toBeGreaterThanOrEqual(Math.floor(unreadMs));
    expect(service.log[0]?.['client_gone']).toBeUndefined();
  });
});

describe('the time limit of a request ends the waiting for a client that does not read', () => {
  const piece = 'x'.repeat(1_000_000);
  const pieces = (count: number) =>
    (async function* () {
      for (let i = 0; i < count; i += 1) yield await Promise.resolve(piece);
    })();

  test.each([
    ['between the chunks of a long response', 60],
    ['at the end of a buffered one', 25],
  ])('%s', async (_, count) => {
    const timeout = new AbortController();
    const outcomes: unknown[] = [];
    const server = createServer((_request, response) => {
      const body = pieces(count);
      sendResponse(response, { status: 200, body }, createRequestContext(timeout.signal)).then(
        (isSent) => outcomes.push(isSent),
        (error: unknown) => outcomes.push(error),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = request({ port: (server.address() as AddressInfo).port }).end();
    await new Promise((resolve) => client.once('response', (incoming) => resolve(incoming.pause())));
    await delay(300);
    expect(outcomes).toEqual([]);
    timeout.abort();
    await waitFor(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ code: 'request_timeout' }]);
    client.on('error', () => undefined).destroy();
    server.close();
  });
});

test('compression applies to a replay and to a long error response', async () => {
  service.reset();
  const gzip = { 'accept-encoding': 'gzip' };
  await service.db.doc('markets/market-1').set({});
  for (let i = 0; i < 2; i += 1) {
    const { status } = await service.call('addPriceLists', { json: operations.addPriceLists.body, headers: gzip });
    expect(status).toBe(200);
  }
  const products = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, {}]));
  const rejected = await service.call('addPriceLists', { json: { info: {}, products }, headers: gzip });
  expect([rejected.status, rejected.headers['content-encoding']]).toEqual([400, 'gzip']);
});
