import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, Refused } from '../../docs/examples/client';
import { cleanUp, startLocalServer, type LocalServer } from '../support/local-server';

/** The programs in docs/examples do what docs/price-lists.md says, against the service and against a bad day. */

const KEY = 'local-dev-key';
const PAYLOAD = 'docs/examples/price-list.json';

let service: LocalServer;
let baseUrl: string;

beforeAll(async () => {
  service = await startLocalServer({ API_KEY: KEY, SAMPLE_DATA: 'true' });
  baseUrl = service.address('getTeams').replace('/getTeams', '');
}, 60_000);
afterAll(cleanUp);

describe('the typed client', () => {
  const client = () => createClient(baseUrl, KEY);

  test('reads', async () => {
    const range = { team_id: 'team-east-africa', start_date: '2026-07-01', end_date: '2026-08-01' };
    const { orders, count } = await client().getOrdersByTeam({ ...range, status: 'DELIVERED' });
    expect(Object.keys(orders)).toHaveLength(count);
    expect(orders['ord-bad-customer']?.customer_data).toEqual({ customer_id: 'cus-100', customer_name: null });
    expect((await client().supplyOrdersInvoices({ ...range, status: null })).count).toBeGreaterThan(0);
    expect((await client().getWarehouses()).warehouses['wh-nbo-1']?.country_iso).toBe('KEN');
    expect((await client().getMarkets()).markets['mkt-ken']?.currency_iso).toBe('KES');
    expect((await client().getTeams()).teams['team-east-africa']?.name).toBe('East Africa');
  });

  test('adds a price list', async () => {
    const answer = await client().addPriceLists({
      info: { market_id: 'mkt-ken', boq_list_id: 'client', currency_iso: 'KES', date: '06/2026', name: 'June' },
      products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
    });
    expect(answer.price_list?.new_date).toEqual({ year: 2026, month: 6 });
  });

  test('tells a refusal from an answer', async () => {
    const refusal = createClient(baseUrl, 'wrong').getTeams();
    await expect(refusal).rejects.toBeInstanceOf(Refused);
    await expect(refusal).rejects.toMatchObject({ status: 401, body: { error: 'Unauthorized' } });
  });
});

const recipes = {
  curl: ['bash', 'docs/examples/add-price-list.sh'],
  TypeScript: [process.execPath, 'docs/examples/add-price-list.mts'],
  Python: ['python3', 'docs/examples/add-price-list.py'],
} as const;

describe.each(Object.entries(recipes))('the retry recipe in %s', (name, [program, script]) => {
  const needed = name === 'curl' ? ['bash', 'curl', 'awk'] : [program];
  const missing = needed.filter((tool) => spawnSync(tool, ['--version']).error !== undefined);
  // Printed in the test's own name, so that nobody takes it for run.
  const tested = missing.length === 0 ? test : test.skip;
  const because = missing.length === 0 ? '' : ` (skipped: ${missing.join(', ')} is not on this machine)`;

  const run = (url: string, payload = PAYLOAD) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const env = { ...process.env, BASE_URL: url, API_KEY: KEY, PYTHONDONTWRITEBYTECODE: '1' };
      execFile(program, [script, payload], { env }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });

  tested(`stores the example price list, and gets the same answer again${because}`, async () => {
    const first = await run(baseUrl);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(first.stdout)).toMatchObject({
      success: true,
      products_count: 1203,
      price_list: { status: 'ready' },
    });
    expect((await run(baseUrl)).stdout).toBe(first.stdout);
  });

  tested(`sends the same bytes again after whatever passes by itself${because}`, async () => {
    const bodies: string[] = [];
    const day = await badDay(bodies, [
      (_, response) => response.destroy(),
      answer(408, '{"error":"Request timeout"}'),
      answer(409, '{"error":"Request is already being processed or requires review"}', { 'Retry-After': '1' }),
      answer(200, '{"success":true}'),
    ]);
    const { code, stdout } = await run(day.url);
    day.close();
    expect([code, stdout.trim()]).toEqual([0, '{"success":true}']);
    expect(bodies).toEqual(Array(4).fill(readFileSync(PAYLOAD, 'utf8')));
  });

  tested(`sends it again after an internal error${because}`, async () => {
    const day = await badDay([], [answer(500, '{"error":"Internal error"}'), answer(200, '{"success":true}')]);
    expect(await run(day.url)).toMatchObject({ code: 0 });
    day.close();
  });

  const stops = [
    [400, 'Payload is invalid', 1],
    [401, 'Unauthorized', 1],
    [409, 'Idempotency key already used with a different payload', 1],
    [413, 'Payload too large', 1],
    [409, 'Request is already being processed or requires review', 2],
    [500, 'Price lists could not be created; the request requires review', 2],
    [500, 'API key is not configured', 2],
  ] as const;

  tested.each(stops)(`stops at %d %s with exit code %d${because}`, async (status, error, exitCode) => {
    const bodies: string[] = [];
    const day = await badDay(bodies, [answer(status, JSON.stringify({ error }))]);
    const { code, stderr } = await run(day.url);
    day.close();
    expect(bodies).toHaveLength(1);
    expect(code).toBe(exitCode);
    expect(stderr).toContain(error);
    expect(stderr).toContain('request-7');
  });
});

const answer =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'X-Request-Id': 'request-7', ...headers }).end(body);
  };

/** A server that gives these answers, one a request, and notes what it was sent. */
async function badDay(bodies: string[], answers: RequestListener[]): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      bodies.push(body);
      (answers.shift() ?? answer(418, 'a request too many'))(request, response);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}
