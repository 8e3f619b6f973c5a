import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Client, ClientOptions, Retry } from 'organisation-data-client';
import ts from 'typescript';
import { judgeResponse } from '../../docs/examples/client/src/retry';
import { cleanUp, startLocalServer, temporaryFolder } from '../support/local-server';
import { runProgram, startProgram } from '../support/programs';
import { respond, startStub, type Stub } from './stub-service';

/** The client as a partner uses it: packed, installed into an empty folder, and called. */

const KEY = 'local-dev-key';

/** A folder with the client and nothing else installed. */
let folder: string;
let baseUrl: string;

beforeAll(async () => {
  folder = temporaryFolder();
  const starting = startLocalServer({ API_KEY: KEY, SAMPLE_DATA: 'true' });
  const packed = await runProgram('npm', [
    'pack',
    resolve('docs/examples/client'),
    '--json',
    '--pack-destination',
    folder,
  ]);
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('['))) as [{ filename: string }];
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await runProgram('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)], { cwd: folder });
  baseUrl = (await starting).address('getTeams').replace('/getTeams', '');
}, 300_000);
afterAll(cleanUp);

interface Program {
  url?: string;
  apiKey?: string;
  options?: ClientOptions;
  /** Whether the client writes retries to stderr, as it does by default, or they are collected. */
  logRetries?: boolean;
  /** JavaScript that calls `client` and evaluates to what the test looks at. */
  code: string;
}

interface Outcome {
  value?: unknown;
  error?: {
    name: string;
    message: string;
    status?: number;
    body?: unknown;
    requestId?: string;
    cause?: string;
    response?: unknown;
  };
  retries: Retry[];
}

function writeProgram({ url = baseUrl, apiKey = KEY, options = {}, logRetries = false, code }: Program): string {
  const file = join(folder, `program-${Math.random()}.mjs`);
  writeFileSync(
    file,
    `import { createClient } from 'organisation-data-client';
    // Which stops waiting for the headers after 300 s.
    delete globalThis.fetch;
    const retries = [];
    const options = ${JSON.stringify(options)};
    if (!${String(logRetries)}) options.onRetry = (retry) => retries.push(retry);
    const outcome = { retries };
    try {
      const client = createClient(${JSON.stringify(url)}, ${JSON.stringify(apiKey)}, options);
      outcome.value = await (${code});
    } catch (error) {
      outcome.error = { ...error, name: error.name, message: error.message, cause: error.cause?.name };
    }
    console.log(JSON.stringify(outcome));`,
  );
  return file;
}

/** Runs a program in the folder. */
async function runInFolder(program: Program): Promise<Outcome> {
  const { stdout } = await runProgram(process.execPath, [writeProgram(program)]);
  return JSON.parse(stdout) as Outcome;
}

const ONE_PRODUCT = {
  info: { market_id: 'mkt-ken', boq_list_id: 'client', currency_iso: 'KES', date: '06/2026', name: 'June' },
  products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
};

test('the package has types that accept a right call, that of its README too, and no wrong one', () => {
  const code = `import { createClient, HttpError, type Client, type CreatedPriceLists } from 'organisation-data-client';
    const client: Client = createClient('http://127.0.0.1:1', 'key');
    const range = { team_id: 'a', start_date: '2026-01-01', end_date: '2026-02-01' };
    export const right = async (): Promise<string | null | undefined> => {
      await client.supplyOrdersInvoices({ ...range, status: null });
      await client.getWarehouses({ signal: AbortSignal.timeout(1) });
      const created: CreatedPriceLists = await client.addPriceLists(${JSON.stringify(ONE_PRODUCT)});
      await client.addPriceLists(${JSON.stringify(ONE_PRODUCT)}, { acceptOtherCurrency: true });
      const { orders } = await client.getOrdersByTeam({ ...range, status: 'ALL' });
      return orders['a']?.market_id ?? String(new HttpError(400, {}, 'a').status) + created.price_list.currency;
    };
    // @ts-expect-error: an option of another method
    export const misplaced = () => client.getTeams({ acceptOtherCurrency: true });
    // @ts-expect-error: a status that does not exist
    export const wrong = () => client.getOrdersByTeam({ ...range, status: 'SHIPPED' });
    // @ts-expect-error: no body
    export const none = () => client.addPriceLists();`;
  const shown = readPrograms('docs/examples/client/README.md');
  expect(shown).toHaveLength(1);
  const files = [code, ...shown].map((text, i) => {
    const file = join(folder, `types-${i}.mts`);
    writeFileSync(file, text);
    return file;
  });
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    typeRoots: [resolve('node_modules/@types')],
    types: ['node'],
  });
  const messages = ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText);
  expect(messages).toEqual([]);
});

/** The programs in TypeScript that a page shows. */
const readPrograms = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code);

describe('against the service', () => {
  test('reads', async () => {
    const range = { team_id: 'team-east-africa', start_date: '2026-07-01', end_date: '2026-10-01' };
    const { value } = await runInFolder({
      code: `Promise.all([
        client.getOrdersByTeam(${JSON.stringify({ ...range, status: 'DELIVERED' })}),
        client.supplyOrdersInvoices(${JSON.stringify({ ...range, status: null })}),
        client.getWarehouses(), client.getMarkets(), client.getTeams()])`,
    });
    const [orders, supplyOrders, warehouses, markets, teams] = value as [
      Awaited<ReturnType<Client['getOrdersByTeam']>>,
      Awaited<ReturnType<Client['supplyOrdersInvoices']>>,
      Awaited<ReturnType<Client['getWarehouses']>>,
      Awaited<ReturnType<Client['getMarkets']>>,
      Awaited<ReturnType<Client['getTeams']>>,
    ];
    expect(Object.keys(orders.orders)).toHaveLength(orders.count);
    expect(orders.orders['ord-2026-00332']?.customer_data).toEqual({
      customer_id: 'cus-137',
      customer_name: 'Sahel Civil Works Ltd',
    });
    expect(supplyOrders.count).toBeGreaterThan(0);
    expect(warehouses.warehouses['wh-nbo-1']?.country_iso).toBe('KEN');
    expect(markets.markets['mkt-ken']?.currency_iso).toBe('KES');
    expect(teams.teams['team-east-africa']?.name).toBe('East Africa');
  });

  test('adds a price list, a large one', async () => {
    const { value } = await runInFolder({
      code: `client.addPriceLists({ info: ${JSON.stringify(ONE_PRODUCT.info)},
        products: Object.fromEntries(Array.from({ length: 2000 }, (_, i) =>
          ['p' + i, { price_list_price: i, expected_forward_cost_price: i }])) })`,
    });
    expect(value).toMatchObject({ products_count: 2000, price_list: { status: 'ready' } });
  });

  const addPriceLists = (info: object, options = '') =>
    `client.addPriceLists(${JSON.stringify({ ...ONE_PRODUCT, info: { ...ONE_PRODUCT.info, ...info } })}${options})`;

  test('rejects if the market does not exist, with what the service stored', async () => {
    const info = { market_id: 'mkt-nowhere', boq_list_id: 'no-market' };
    const { value, error } = await runInFolder({ code: addPriceLists(info) });
    expect(value).toBeUndefined();
    expect(error).toMatchObject({
      name: 'MarketNotFoundError',
      message: expect.stringMatching(/mkt-nowhere.*new boq_list_id/) as string,
      response: { success: true, price_list: null, document_id: expect.any(String) as string },
    });
  });

  test('rejects if the lists have another currency, unless told that any will do', async () => {
    const info = { currency_iso: 'usd', boq_list_id: 'other-currency' };
    const { value, error } = await runInFolder({ code: addPriceLists(info) });
    expect(value).toBeUndefined();
    expect(error).toMatchObject({
      name: 'OtherCurrencyError',
      message: expect.stringContaining('stored as KES') as string,
      sent: 'USD',
      stored: 'KES',
      response: { price_list: { status: 'ready' } },
    });
    const accepted = await runInFolder({ code: addPriceLists(info, ', { acceptOtherCurrency: true }') });
    expect(accepted.value).toEqual(error?.response);
    const same = await runInFolder({ code: addPriceLists({ currency_iso: 'kes', boq_list_id: 'same-currency' }) });
    expect(same.value).toMatchObject({ price_list: { currency: 'KES' } });
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
])('%d %s with Retry-After %s is judged as the guide has it', (status, text, retryAfter, judgement) => {
  expect(judgeResponse({ status, headers: { 'retry-after': retryAfter }, text })).toMatchObject(judgement);
});

test('a Retry-After that is a date is the time until then', () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const judgement = judgeResponse({ status: 503, headers: { 'retry-after': inAnHour }, text: '' });
  expect(judgement).toMatchObject({ kind: 'retry', afterMs: expect.closeTo(3_600_000, -5) as number });
});

describe('against a stub', () => {
  const CREATED = '{"success":true,"price_list":{"currency":"KES"}}';
  const TEAMS = '{"teams":{},"count":0}';

  test('sends the same bytes again after a transient error, and says why', async () => {
    const stub = await startStub([
      (_, response) => response.destroy(),
      respond(503, 'busy', { 'Retry-After': '0' }),
      respond(200, '<html>', { 'Retry-After': '0' }),
      respond(200, CREATED),
    ]);
    const { value, retries } = await runInFolder({
      url: `${stub.url}/`,
      code: `client.addPriceLists(${JSON.stringify(ONE_PRODUCT)})`,
    });
    stub.close();
    expect(value).toEqual(JSON.parse(CREATED));
    expect(stub.bodies.map(String)).toEqual(Array(4).fill(JSON.stringify(ONE_PRODUCT)));
    expect(retries).toMatchObject([
      { retry: 1, delayMs: 1000, reason: expect.stringMatching(/^no response: /) as string },
      { retry: 2, delayMs: 0, reason: '503 busy' },
      { retry: 3, delayMs: 0, reason: '200 <html>' },
    ]);
  });

  test('writes each retry to stderr unless told otherwise', async () => {
    const stub = await startStub([respond(503, '', { 'Retry-After': '0' }), respond(200, TEAMS)]);
    const program = writeProgram({ url: stub.url, logRetries: true, code: 'client.getTeams()' });
    const { stderr } = await runProgram(process.execPath, [program]);
    stub.close();
    expect(stderr).toContain('getTeams: 503 ; retry 1 in 0 s');
  });

  test('waits longer before each retry, and rejects when the time is over', async () => {
    const stub = await startStub([respond(500, '<html>'), respond(502, ''), respond(500, '<html>')]);
    const { error, retries } = await runInFolder({
      url: stub.url,
      options: { retryForMs: 6_000 },
      code: 'client.getTeams()',
    });
    stub.close();
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([1000, 2000]);
    expect(error).toMatchObject({ name: 'RetriesExhaustedError', tries: 3, cause: 'HttpError' });
  });

  test('sends a request again that gets no response in time', async () => {
    const stub = await startStub([() => undefined, respond(200, TEAMS)]);
    const { value, retries } = await runInFolder({
      url: stub.url,
      options: { requestTimeoutMs: 500 },
      code: 'client.getTeams()',
    });
    stub.close();
    expect(value).toEqual({ teams: {}, count: 0 });
    expect(retries).toMatchObject([{ reason: 'no response: none within 0.5 s' }]);
  });

  test('stops when its signal aborts', async () => {
    const stub = await startStub([() => undefined]);
    const { error, retries } = await runInFolder({
      url: stub.url,
      code: 'client.getTeams({ signal: AbortSignal.timeout(200) })',
    });
    stub.close();
    expect([error?.name, retries]).toEqual(['TimeoutError', []]);
  });

  test('does not retry any other error', async () => {
    const stub = await startStub([respond(409, IN_PROGRESS)]);
    const { error, retries } = await runInFolder({ url: stub.url, code: 'client.getTeams()' });
    stub.close();
    expect(error).toMatchObject({
      name: 'HttpError',
      status: 409,
      body: JSON.parse(IN_PROGRESS) as object,
      requestId: 'request-7',
    });
    expect(retries).toEqual([]);
  });

  test('sends a body of 64 KiB as gzip, and a smaller one as it is', async () => {
    const stub = await startStub([respond(200, '{}'), respond(200, '{}')]);
    const getOrders = (length: number) => `client.getOrdersByTeam({ team_id: 'x'.repeat(${length}) })`;
    // 14 bytes stand around the text.
    const [atLimit, below] = [65_536 - 14, 65_536 - 15].map(getOrders);
    await runInFolder({ url: stub.url, code: `${atLimit}.then(() => ${below})` });
    stub.close();
    expect(stub.requests.map(({ headers }) => headers['content-encoding'])).toEqual(['gzip', undefined]);
    const [large = Buffer.of()] = stub.bodies;
    expect(large.length).toBeLessThan(1000);
    expect(gunzipSync(large).length).toBe(65_536);
  });

  test.each([
    ['a base URL without a scheme', { url: '127.0.0.1:5001/x' }, /baseUrl/],
    ['no base URL', { url: '' }, /baseUrl/],
    ['no API key', { apiKey: '' }, /apiKey/],
    ['an API key with a line break', { apiKey: 'a\nb' }, /apiKey/],
  ])('rejects %s before the first try', async (_, wrong, message) => {
    const { error } = await runInFolder({ ...wrong, code: 'client.getTeams()' });
    expect(error?.name).toBe('TypeError');
    expect(error?.message).toMatch(message);
  });
});

describe('the backend of a dashboard', () => {
  let backend: ReturnType<typeof startProgram>;
  let origin: string;
  let stub: Stub;
  /** What the service would respond, in its place. */
  const responses: RequestListener[] = [];

  beforeAll(async () => {
    cpSync('docs/examples/dashboard', join(folder, 'dashboard'), { recursive: true });
    stub = await startStub(responses);
    const env = { PORT: '0', API_KEY: KEY, BASE_URL: stub.url };
    backend = startProgram(process.execPath, [join(folder, 'dashboard/backend.mjs')], { env });
    const [line] = (await once(backend.stdout, 'data')) as [Buffer];
    origin = /http:\S+/.exec(String(line))?.[0] ?? '';
  });
  afterAll(() => {
    backend.kill();
    stub.close();
  });

  const get = async (path: string) => {
    const response = await fetch(origin + path);
    return { status: response.status, text: await response.text() };
  };

  test('serves the page and what the page reads, from one origin', async () => {
    expect(await get('/')).toEqual({ status: 200, text: readFileSync('docs/examples/dashboard/page.html', 'utf8') });
    const orders = { status: 200, text: '{"orders":{},"count":0}' };
    responses.push(respond(200, orders.text));
    expect(await get('/api/orders?team_id=a%26b&start_date=2026-01-01&end_date=2026-02-01')).toEqual(orders);
    expect(JSON.parse(String(stub.bodies[0]))).toEqual({
      team_id: 'a&b',
      status: 'ALL',
      start_date: '2026-01-01',
      end_date: '2026-02-01',
    });
    expect(await get('/addPriceLists')).toMatchObject({ status: 404 });
  });

  test('passes on what its user can correct, and no 401 of the service', async () => {
    const errors = JSON.stringify({ success: false, errors: [] });
    responses.push(respond(400, errors), respond(401, '{"error":"Unauthorized"}'));
    expect(await get('/api/orders?team_id=')).toEqual({ status: 400, text: errors });
    const failed = await get('/api/teams');
    expect([failed.status, failed.text]).toEqual([502, expect.not.stringContaining('Unauthorized')]);
    expect(await get('//')).toMatchObject({ status: 502 });
  });
});
