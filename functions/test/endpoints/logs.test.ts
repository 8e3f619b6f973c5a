import { createHash } from 'node:crypto';
import * as functions from '../../src';
import { operationNames, operations, type OperationName } from '../../../dev/run/operations';
import { writeMarket } from '../../../test/harness/price-lists';
import {
  TEST_API_KEY,
  TEST_ORIGIN,
  useTestService,
  type LogLine,
  type TestRequest,
} from '../../../test/harness/service';
import { createPriceListBody } from '../../../test/harness/submissions';

/** Tests the log lines of requests and of creations. {@link useTestService} checks them for confidential data. */

const service = useTestService(functions);
beforeEach(() => writeMarket(service.db));

const lines = (event: string): LogLine[] => service.log.filter((line) => line['event'] === event);
const valid = (name: OperationName) => ('body' in operations[name] ? { json: operations[name].body } : {});

const toKeyId = (apiKey: string) => createHash('sha256').update(apiKey).digest('hex').slice(0, 8);

const getPhases = (name: OperationName): string[] => [
  ...(operations[name].method === 'POST' ? ['body_ms'] : []),
  ...(name === 'addPriceLists' ? ['claim_ms', 'entries_ms', 'completion_ms'] : ['firestore_ms']),
  'client_ms',
];

/** Returns the fields by which Error Reporting captures an entry and groups it by its stack. */
const errorReport = (firstLine: string) => ({
  '@type': 'type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent',
  serviceContext: { service: expect.any(String) as string, version: expect.any(String) as string },
  stack_trace: expect.stringMatching(new RegExp(`^${firstLine}\\n    at `)) as string,
});

describe('the line of a request', () => {
  test.each(operationNames)(
    'to %s has the operation, the times, the count, the name of the API key, and the number of calls that reached Firestore',
    async (name) => {
      const { emptyStatus } = operations[name];
      const calls = service.recordCalls();
      const result = await service.call(name, valid(name));
      expect(lines('request')).toEqual([
        {
          severity: emptyStatus < 400 ? 'INFO' : 'NOTICE',
          message: `${name} answered ${emptyStatus}`,
          event: 'request',
          operation: name,
          request_id: result.headers['x-request-id'],
          method: operations[name].method,
          status: emptyStatus,
          duration_ms: expect.any(Number) as number,
          firestore_calls: calls.length,
          retries: 0,
          ...Object.fromEntries(getPhases(name).map((phase) => [phase, expect.any(Number) as number])),
          count: (result.json as { count?: number }).count ?? 2,
          key_id: toKeyId(TEST_API_KEY),
          ...(name === 'addPriceLists' && { replayed: false, market_found: true, currency_differs: true }),
        },
      ]);
    },
  );

  test('counts the records of all batches of a response', async () => {
    await Promise.all([...Array(300).keys()].map((i) => service.db.doc(`teams/team-${i}`).set({ name: 'Team' })));
    await service.call('getTeams');
    expect(lines('request')).toMatchObject([{ count: 300, firestore_calls: 1 }]);
  });

  test('says that the request was a replay', async () => {
    await service.call('addPriceLists', valid('addPriceLists'));
    service.log.length = 0;
    const calls = service.recordCalls();
    await service.call('addPriceLists', valid('addPriceLists'));
    expect(lines('request')).toMatchObject([{ replayed: true, firestore_calls: calls.length }]);
    expect(lines('price_list_claimed')).toEqual([]);
  });

  test('has the name of an accepted API key, even if the request fails later, and never that of a rejected API key', async () => {
    const digest = createHash('sha256').update('new-key').digest('hex');
    service.setConfig({ API_KEY: `acme-2:${digest}\nold-key` });
    for (const apiKey of ['new-key', 'old-key', 'other-key'])
      await service.call('getTeams', { headers: { 'x-api-key': apiKey } });
    await service.call('addPriceLists', { json: {}, headers: { 'x-api-key': 'old-key' } });
    expect(lines('request').map(({ status, key_id }) => [status, key_id])).toEqual([
      [200, 'acme-2'],
      [200, toKeyId('old-key')],
      [401, undefined],
      [400, toKeyId('old-key')],
    ]);
    expect(JSON.stringify(service.log)).not.toContain(toKeyId('other-key'));
  });

  test('names the origin of a rejected preflight, at most 300 characters of it, and the setting CORS_ALLOWED_ORIGINS', async () => {
    const preflight = (origin: string) =>
      service.call('getWarehouses', { method: 'OPTIONS', headers: { 'x-api-key': undefined, origin } });
    await preflight('http://localhost:3000');
    await preflight(`https://${'x'.repeat(1_000)}.example.com`);
    await preflight(TEST_ORIGIN);
    expect(lines('request').map(({ status, origin }) => [status, origin])).toEqual([
      [403, 'http://localhost:3000'],
      [403, `https://${'x'.repeat(292)}`],
      [204, undefined],
    ]);
    expect(lines('request')[0]?.['reason']).toContain('CORS_ALLOWED_ORIGINS');
  });

  test('counts the retries of a read, and counts their pauses as time spent waiting for Firestore', async () => {
    service.firestore.faults.inject({ rpc: 'RunQuery', times: 2, action: { kind: 'error', code: 'UNAVAILABLE' } });
    const calls = service.recordCalls();
    await service.call('getTeams');
    const [line] = lines('request') as [{ firestore_ms: number; duration_ms: number }];
    expect([calls.length, line]).toMatchObject([3, { status: 200, firestore_calls: 3, retries: 2 }]);
    expect(line.firestore_ms).toBeGreaterThanOrEqual(line.duration_ms / 2);
  });

  test.each<[string, TestRequest, number, string]>([
    ['a wrong API key', { headers: { 'x-api-key': 'wrong' } }, 401, 'invalid_api_key'],
    ['a wrong method', { method: 'DELETE' }, 405, 'method_not_allowed'],
    ['a bad body', { json: {} }, 400, 'validation_failed'],
  ])('is a NOTICE for %s, an error of the client', async (_, request, status, error_code) => {
    await service.call('addPriceLists', request);
    const [line] = lines('request');
    expect(line).toMatchObject({ severity: 'NOTICE', status, error_code, firestore_calls: 0 });
    expect(line).not.toHaveProperty('count');
    expect(line).not.toHaveProperty('stack_trace');
    expect(line).not.toHaveProperty('@type');
  });
});

describe('the trace of a request', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const traces = () => service.log.map((line) => line['logging.googleapis.com/trace']);

  test('is in every line of a creation, of a read and of an early error', async () => {
    const trace = expect.stringMatching(new RegExp(`^projects/[^/]+/traces/${traceId}$`)) as string;
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    await service.call('addPriceLists', { json: createPriceListBody(3), headers });
    expect(traces()).toEqual([trace, trace, trace]);
    service.log.length = 0;
    await service.call('getTeams', { headers });
    await service.call('getTeams', { headers: { ...headers, 'x-api-key': 'wrong' } });
    await service.call('getTeams');
    expect(traces()).toEqual([trace, trace, undefined]);
  });
});

describe('the life of a price list', () => {
  const life = () => service.log.filter(({ event }) => String(event).startsWith('price_list_'));

  test('is logged as claimed and completed, with the ids of the request, the request record and the price list', async () => {
    const { json, headers } = await service.call('addPriceLists', { json: createPriceListBody(3) });
    const { document_id, price_list } = json as { document_id: string; price_list: { id: string } };
    const ids = { request_id: headers['x-request-id'], document_id, price_list_id: price_list.id, products_count: 3 };
    expect(life()).toEqual([
      { severity: 'INFO', message: 'price list claimed', event: 'price_list_claimed', ...ids },
      {
        severity: 'INFO',
        message: 'price list completed',
        event: 'price_list_completed',
        ...ids,
        outcome: 'other_currency',
        since_claim_ms: expect.any(Number) as number,
        market_found: true,
        currency_differs: true,
      },
    ]);
  });

  test('is logged only as completed if no market matched, and that line and the line of the request say so', async () => {
    await service.call('addPriceLists', { json: createPriceListBody(3, { market_id: 'nowhere' }) });
    const facts = { market_found: false, currency_differs: false };
    expect(life()).toMatchObject([{ event: 'price_list_completed', price_list_id: null, since_claim_ms: 0, ...facts }]);
    expect(lines('request')).toMatchObject([facts]);
  });

  test('is logged as failed after a permanent error, with an ERROR that says that an operator is needed', async () => {
    service.firestore.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
      action: { kind: 'error', code: 'PERMISSION_DENIED', message: 'denied on /documents/a/product-1' },
    });
    expect((await service.call('addPriceLists', { json: createPriceListBody(3) })).status).toBe(500);
    expect(life()).toMatchObject([
      { severity: 'INFO', event: 'price_list_claimed' },
      {
        severity: 'ERROR',
        event: 'price_list_failed',
        needs_operator: true,
        reason: expect.stringContaining('/documents/…') as string,
      },
    ]);
    const report = errorReport('Error: 7 PERMISSION_DENIED: .*/documents/…');
    expect(lines('request')).toMatchObject([{ error_code: 'creation_failed', needs_operator: true, ...report }]);
    expect(service.log.filter((line) => '@type' in line)).toHaveLength(1);
    service.log.length = 0;
    expect((await service.call('addPriceLists', { json: createPriceListBody(3) })).status).toBe(409);
    expect(lines('request')).toMatchObject([{ error_code: 'review_required', needs_operator: true }]);
  });
});
