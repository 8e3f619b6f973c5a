import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createClient, type Client, type ClientOptions, type Retry } from '../../docs/examples/client/src';
import { judgeResponse } from '../../docs/examples/client/src/retry';
import { cleanUp, startLocalServer, temporaryFolder } from '../support/local-server';
import { runProgram } from '../support/programs';
import { respond, startStub, type Stub } from './stub-service';

/** Tests the code of the typed client, and its package as a partner installs it. */

const KEY = 'local-dev-key';

let baseUrl: string;

beforeAll(async () => {
  baseUrl = (await startLocalServer({ API_KEY: KEY, SAMPLE_DATA: 'true' })).address('');
  // The client must not use `fetch`, which stops waiting for the headers after 300 s.
  Reflect.deleteProperty(globalThis, 'fetch');
});
afterAll(cleanUp);

const ONE_PRODUCT = {
  info: { market_id: 'mkt-ken', boq_list_id: 'client', currency_iso: 'KES', date: '06/2026', name: 'June' },
  products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
};

/** Calls that must not compile. `npm run check` compiles this file. */
export const wrongCalls = (client: Client) => [
  // @ts-expect-error: an option of another method
  client.getTeams({ acceptOtherCurrency: true }),
  // @ts-expect-error: a status that does not exist
  client.getOrdersByTeam({ team_id: 'a', start_date: '2026-01-01', end_date: '2026-02-01', status: 'SHIPPED' }),
  // @ts-expect-error: a call without a body
  client.addPriceLists(),
];

describe('against the service', () => {
  let client: Client;
  beforeAll(() => (client = createClient(baseUrl, KEY)));

  test('reads', async () => {
    const range = { team_id: 'team-east-africa', start_date: '2026-07-01', end_date: '2026-10-01' };
    const { orders, count } = await client.getOrdersByTeam({ ...range, status: 'DELIVERED' });
    expect(Object.keys(orders)).toHaveLength(count);
    expect(orders['ord-2026-00332']?.customer_data.customer_name).toBe('Sahel Civil Works Ltd');
    expect((await client.supplyOrdersInvoices({ ...range, status: null })).count).toBeGreaterThan(0);
    expect((await client.getWarehouses()).warehouses['wh-nbo-1']?.country_iso).toBe('KEN');
    expect((await client.getMarkets()).markets['mkt-ken']?.currency_iso).toBe('KES');
    expect((await client.getTeams()).teams['team-east-africa']?.name).toBe('East Africa');
  });

  const withInfo = (info: object) => ({ ...ONE_PRODUCT, info: { ...ONE_PRODUCT.info, ...info } });

  test('rejects if the market does not exist, with what the service stored', async () => {
    const payload = withInfo({ market_id: 'mkt-nowhere', boq_list_id: 'no-market' });
    await expect(client.addPriceLists(payload)).rejects.toMatchObject({
      name: 'MarketNotFoundError',
      message: expect.stringMatching(/mkt-nowhere.*new boq_list_id/) as string,
      response: { success: true, price_list: null, document_id: expect.any(String) as string },
    });
  });

  test('rejects if the lists have another currency, unless the caller accepts any', async () => {
    const payload = withInfo({ currency_iso: 'usd', boq_list_id: 'other-currency' });
    await expect(client.addPriceLists(payload)).rejects.toMatchObject({
      name: 'OtherCurrencyError',
      message: expect.stringContaining('stored as KES') as string,
      sent: 'USD',
      stored: 'KES',
      response: { price_list: { status: 'ready' } },
    });
    const accepted = await client.addPriceLists(payload, { acceptOtherCurrency: true });
    expect(accepted.price_list).toMatchObject({ status: 'ready', currency: 'KES' });
    const same = await client.addPriceLists(withInfo({ currency_iso: 'kes', boq_list_id: 'same-currency' }));
    expect([same.market.iso, same.expected_forward_cost.status, same.price_list.currency]).toEqual([
      'KEN',
      'ready',
      'KES',
    ]);
  });
});

const IN_PROGRESS = '{"error":"Request is already being processed or requires review"}';
const NOT_CREATED = '{"error":"Price lists could not be created; the request requires review"}';

test.each([
  [200, '{"teams":{}}', undefined, { kind: 'success' }],
  [408, '{"error":"Request timeout"}', undefined, { kind: 'retry', isForeign: false, afterMs: undefined }],
  [409, IN_PROGRESS, '7', { kind: 'retry', isForeign: false, afterMs: 7_000 }],
  [429, 'Rate exceeded.', undefined, { kind: 'retry', isForeign: false }],
  [500, '{"error":"Internal error"}', undefined, { kind: 'retry', isForeign: false }],
  [500, NOT_CREATED, '60', { kind: 'retry', isForeign: false, afterMs: 60_000 }],
  [502, '', undefined, { kind: 'retry', isForeign: false }],
  [503, '<html>', new Date(0).toUTCString(), { kind: 'retry', isForeign: false, afterMs: 0 }],
  [504, '', undefined, { kind: 'retry', isForeign: false }],
  [500, '<html>', undefined, { kind: 'retry', isForeign: true }],
  [200, '<html>', undefined, { kind: 'retry', isForeign: true }],
  [409, IN_PROGRESS, undefined, { kind: 'failure' }],
  [500, NOT_CREATED, undefined, { kind: 'failure' }],
  [500, '{"error":"API key is not configured"}', undefined, { kind: 'failure' }],
  [404, '<html>', undefined, { kind: 'failure', body: '<html>' }],
])('judges %d %s with Retry-After %s by the rule of the guide', (status, text, retryAfter, judgement) => {
  expect(judgeResponse({ status, headers: { 'retry-after': retryAfter }, text })).toMatchObject(judgement);
});

test('waits until the date in Retry-After', () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const judgement = judgeResponse({ status: 503, headers: { 'retry-after': inAnHour }, text: '' });
  expect(judgement).toMatchObject({ kind: 'retry', afterMs: expect.closeTo(3_600_000, -5) as number });
});

describe('against a stub', () => {
  const CREATED = '{"success":true,"price_list":{"currency":"KES"}}';
  const TEAMS = '{"teams":{},"count":0}';

  const retries: Retry[] = [];
  beforeEach(() => (retries.length = 0));
  const createStubClient = ({ url }: Stub, options: ClientOptions = {}) =>
    createClient(url, KEY, { onRetry: (retry) => retries.push(retry), ...options });

  test('sends the same bytes again after a transient error, and says why', async () => {
    const stub = await startStub([
      (_, response) => response.destroy(),
      respond(503, 'busy', { 'Retry-After': '0' }),
      respond(200, '<html>', { 'Retry-After': '0' }),
      respond(200, CREATED),
    ]);
    expect(await createStubClient(stub).addPriceLists(ONE_PRODUCT)).toEqual(JSON.parse(CREATED));
    expect(stub.bodies.map(String)).toEqual(Array(4).fill(JSON.stringify(ONE_PRODUCT)));
    expect(retries).toMatchObject([
      { retry: 1, delayMs: 1000, reason: expect.stringMatching(/^no response: /) as string },
      { retry: 2, delayMs: 0, reason: '503 busy' },
      { retry: 3, delayMs: 0, reason: '200 <html>' },
    ]);
  });

  test('writes each retry to stderr by default', async () => {
    const { url } = await startStub([respond(503, '', { 'Retry-After': '0' }), respond(200, TEAMS)]);
    const write = jest.spyOn(console, 'error').mockReturnValue();
    await createClient(url, KEY).getTeams();
    expect(write).toHaveBeenCalledWith('getTeams: 503 ; retry 1 in 0 s');
    write.mockRestore();
  });

  test('waits longer before each retry, and rejects when the time is over', async () => {
    const stub = await startStub([respond(500, '<html>'), respond(502, ''), respond(500, '<html>')]);
    const call = createStubClient(stub, { retryForMs: 6_000 }).getTeams();
    await expect(call).rejects.toMatchObject({ name: 'RetriesExhaustedError', tries: 3, cause: { name: 'HttpError' } });
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([1000, 2000]);
  });

  test('sends a request again that gets no response in time', async () => {
    const stub = await startStub([() => undefined, respond(200, TEAMS)]);
    const client = createStubClient(stub, { requestTimeoutMs: 500 });
    expect(await client.getTeams()).toEqual({ teams: {}, count: 0 });
    expect(retries).toMatchObject([{ reason: 'no response: none within 0.5 s' }]);
  });

  test('stops when its signal aborts', async () => {
    const stub = await startStub([() => undefined]);
    const call = createStubClient(stub).getTeams({ signal: AbortSignal.timeout(200) });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(retries).toEqual([]);
  });

  test('does not retry any other error', async () => {
    const stub = await startStub([respond(409, IN_PROGRESS)]);
    await expect(createStubClient(stub).getTeams()).rejects.toMatchObject({
      name: 'HttpError',
      status: 409,
      body: JSON.parse(IN_PROGRESS) as object,
      requestId: 'request-7',
    });
    expect(retries).toEqual([]);
  });

  test('compresses a body of 64 KiB, but no smaller one', async () => {
    const stub = await startStub([respond(200, '{}'), respond(200, '{}')]);
    const range = { start_date: '', end_date: '', status: 'ALL' } as const;
    const withoutTeam = JSON.stringify({ ...range, team_id: '' }).length;
    for (const length of [65_536, 65_535])
      await createStubClient(stub).getOrdersByTeam({ ...range, team_id: 'x'.repeat(length - withoutTeam) });
    expect(stub.requests.map(({ headers }) => headers['content-encoding'])).toEqual(['gzip', undefined]);
    const [large = Buffer.of()] = stub.bodies;
    expect(large.length).toBeLessThan(1000);
    expect(gunzipSync(large).length).toBe(65_536);
  });
});

test.each([
  ['a base URL without a scheme', '127.0.0.1:5001/x', KEY, /baseUrl/],
  ['no base URL', '', KEY, /baseUrl/],
  ['no API key', 'http://127.0.0.1:1', '', /apiKey/],
  ['an API key with a line break', 'http://127.0.0.1:1', 'a\nb', /apiKey/],
])('rejects %s before the first try', (_, url, apiKey, message) => {
  const create = () => createClient(url, apiKey);
  expect(create).toThrow(TypeError);
  expect(create).toThrow(message);
});

describe('the package', () => {
  /** A folder in which nothing but the client is installed. */
  let folder: string;

  beforeAll(async () => {
    folder = temporaryFolder();
    const pack = ['pack', resolve('docs/examples/client'), '--json', '--pack-destination', folder];
    const { stdout } = await runProgram('npm', pack);
    const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)];
    await runProgram('npm', install, { cwd: folder });
  });

  test('compiles and runs the program that its README shows', async () => {
    const readme = readFileSync('docs/examples/client/README.md', 'utf8');
    const [, program = ''] = /^```ts\n([^]*?)^```$/m.exec(readme) ?? [];
    const file = join(folder, 'program.mts');
    writeFileSync(file, program.replace(/http:[^']*/, baseUrl));
    const typeRoots = resolve('node_modules/@types');
    const options = ['--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    const tsc = [resolve('node_modules/typescript/bin/tsc'), ...options, '--typeRoots', typeRoots, file];
    await runProgram(process.execPath, tsc, { cwd: folder });
    const { stdout } = await runProgram(process.execPath, [join(folder, 'program.mjs')]);
    expect(stdout).toBe('KES\n');
  });
});
