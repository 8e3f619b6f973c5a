import { operations } from '../../../support/operations';
import { startTestService, type TestService } from '../../../support/service';
import { writeRecords } from '../../../support/stored';
import { waitFor } from '../../../support/wait-for';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const NAME = 'é'.repeat(450_000);

/** Stores teams whose answer has 900 kB each. */
async function storeLargeTeams(count: number): Promise<void> {
  for (let start = 0; start < count; start += 10) {
    const ids = Array.from({ length: Math.min(10, count - start) }, (_, i) => `team-${start + i}`);
    await writeRecords(service.db, 'teams', Object.fromEntries(ids.map((id) => [id, { name: NAME }])));
  }
}

describe('an answer of less than 30 MB', () => {
  beforeEach(() => service.reset());

  test.each([0, 1, 30])('goes out in one piece, with its length: %i teams of 900 kB', async (count) => {
    await storeLargeTeams(count);
    const { status, headers, bytes, json } = await service.call('getTeams');
    expect([status, headers['content-length']]).toEqual([200, String(bytes.length)]);
    expect(headers['transfer-encoding']).toBeUndefined();
    expect(json).toMatchObject({ count });
  });
});

describe('an answer of more than 30 MB', () => {
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

  test('goes out in one piece when it is small enough compressed', async () => {
    const { headers, bytes, json } = await service.call('getTeams', { headers: { 'accept-encoding': 'gzip' } });
    expect([headers['content-encoding'], headers['content-length']]).toEqual(['gzip', String(bytes.length)]);
    expect(json).toMatchObject({ count: 60 });
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

  test('that nobody takes any more ends its query', async () => {
    const calls = service.recordCalls();
    const { request, answer } = service.open('getTeams');
    request.on('response', (response) => response.once('data', () => request.destroy()));
    request.end();
    await expect(answer).rejects.toThrow();
    await waitFor(() => service.log.length > 0 && calls.length > 0);
    expect(calls).toMatchObject([{ rpc: 'RunQuery', outcome: 'CANCELLED' }]);
  });
});

describe('compression', () => {
  beforeEach(() => service.reset());

  const LARGE = 'x'.repeat(2_000);

  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip;q=0, br', 'br'],
    ['*', 'br'],
  ])('for a caller who accepts %s is %s', async (accepted, encoding) => {
    await writeRecords(service.db, 'teams', { large: { name: LARGE } });
    const plain = await service.call('getTeams');
    const { headers, bytes, text } = await service.call('getTeams', { headers: { 'accept-encoding': accepted } });
    expect(headers['content-encoding']).toBe(encoding);
    expect(text).toBe(plain.text);
    expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
    expect(headers['content-length']).toBe(String(bytes.length));
  });

  test.each([undefined, '', 'identity', 'deflate', 'gzip;q=0', '*;q=0, identity', 'zstd'])(
    'is none for a caller who accepts %j',
    async (accepted) => {
      await writeRecords(service.db, 'teams', { large: { name: LARGE } });
      const { headers, json } = await service.call('getTeams', { headers: { 'accept-encoding': accepted } });
      expect(headers['content-encoding']).toBeUndefined();
      expect(json).toMatchObject({ count: 1 });
    },
  );

  test('is not worth it under 1 KiB', async () => {
    // What stands around the name in the answer.
    const around = '{"teams":{"small":{"name":"","country_iso":null}},"count":1}'.length;
    for (const [length, encoding] of [
      [1023, undefined],
      [1024, 'gzip'],
    ] as const) {
      await writeRecords(service.db, 'teams', { small: { name: 'x'.repeat(length - around) } });
      const { text, headers } = await service.call('getTeams', { headers: { 'accept-encoding': 'gzip' } });
      expect([text.length, headers['content-encoding']]).toEqual([length, encoding]);
    }
  });

  test('serves a replay and a long refusal, too', async () => {
    const gzip = { 'accept-encoding': 'gzip' };
    await service.db.doc('markets/market-1').set({});
    for (let i = 0; i < 2; i += 1) {
      const { status } = await service.call('addPriceLists', { json: operations.addPriceLists.body, headers: gzip });
      expect(status).toBe(200);
    }
    const products = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, {}]));
    const refusal = await service.call('addPriceLists', { json: { info: {}, products }, headers: gzip });
    expect([refusal.status, refusal.headers['content-encoding']]).toEqual([400, 'gzip']);
  });
});
