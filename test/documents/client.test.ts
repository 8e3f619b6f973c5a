import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createClient, type Client, type ClientOptions } from '../../docs/examples/client/src';
import { cleanUp, startLocalServer, temporaryFolder } from '../harness/local-server';
import { runProgram } from '../../dev/run/programs';
import { respond, startStub, type Stub } from '../harness/stub-service';

/** Tests the code of the typed client, and the package that a partner installs. */

const KEY = 'local-dev-key';

let baseUrl: string;

beforeAll(async () => {
  baseUrl = (await startLocalServer({ API_KEY: KEY, SAMPLE_DATA: 'true' })).address('');
});
afterAll(cleanUp);

const ONE_PRODUCT = {
  info: { market_id: 'mkt-ken', boq_list_id: 'client', currency_iso: 'KES', date: '06/2026', name: 'June' },
  products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
};

const CREATED = {
  ...{ success: true, message: '', products_count: 1, document_id: 'id', market: {} },
  ...{ expected_forward_cost: { status: 'ready' }, price_list: { status: 'ready', currency: 'KES' } },
};

/** Moves the clock of undici's timers. */
const { tick } = jest.requireActual<{ tick: (ms?: number) => void }>('undici/lib/util/timers');

/** Calls that must not compile. `npm run check` fails if one of them does. */
export const wrongCalls = (client: Client) => [
  // @ts-expect-error: an option of another method
  client.getTeams({ allowOtherCurrency: true }),
  // @ts-expect-error: a status that does not exist
  client.getOrdersByTeam({ team_id: 'a', start_date: '2026-01-01', end_date: '2026-02-01', status: 'SHIPPED' }),
  // @ts-expect-error: a call without a body
  client.addPriceLists(),
];

describe('the client against the service', () => {
  let client: Client;
  beforeAll(() => (client = createClient(baseUrl, KEY)));

  test('reads orders, supply orders, warehouses, markets and teams', async () => {
    const range = { team_id: 'team-east-africa', start_date: '2026-07-01', end_date: '2026-10-01' };
    const { orders, count } = await client.getOrdersByTeam({ ...range, status: 'DELIVERED' });
    expect(Object.keys(orders)).toHaveLength(count);
    expect(orders['ord-2026-00332']?.customer_data.customer_name).toBe('Sahel Civil Works Ltd');
    expect((await client.supplyOrdersInvoices({ ...range, status: null })).count).toBeGreaterThan(0);
    expect((await client.getWarehouses()).warehouses['wh-nbo-1']?.country_iso).toBe('KEN');
    expect((await client.getMarkets()).markets['mkt-ken']?.currency_iso).toBe('KES');
    expect((await client.getTeams()).teams['team-east-africa']?.name).toBe('East Africa');
  });

  test('reads a response that comes before the whole body is sent', async () => {
    const products = { cement: { price_list_price: 1, expected_forward_cost_price: 1 } };
    const info = { ...ONE_PRODUCT.info, name: randomBytes(8 * 1024 ** 2).toString('hex') };
    const call = createClient(baseUrl, 'wrong').addPriceLists({ info, products });
    await expect(call).rejects.toMatchObject({ status: 401, body: { error: 'Unauthorized' } });
  });
});

describe('the client against a stub', () => {
  const retries: [reason: string, delayMs: number][] = [];
  beforeEach(() => (retries.length = 0));
  const createStubClient = ({ url }: Stub, options: ClientOptions = {}) =>
    createClient(url, KEY, { onRetry: ({ message }, delayMs) => retries.push([message, delayMs]), ...options });

  test('waits longer before each retry, and rejects with the last error if the next retry would be too late', async () => {
    const stub = await startStub([respond(500, '<html>'), respond(502, ''), respond(503, 'busy')]);
    const call = createStubClient(stub, { retryForMs: 6_000 }).getTeams();
    await expect(call).rejects.toMatchObject({ name: 'HttpError', status: 503, requestId: 'request-7' });
    expect(retries).toEqual([
      ['500 <html>', 1000],
      ['502 ', 2000],
    ]);
  });

  test('rejects a 200 that is not a success, with an error that has the request id for support', async () => {
    for (const body of [{ ...CREATED, products_count: 2 }, { ok: true }, null]) {
      const stub = await startStub([respond(200, JSON.stringify(body))]);
      const call = createStubClient(stub).addPriceLists(ONE_PRODUCT);
      await expect(call).rejects.toMatchObject({ name: 'HttpError', status: 200, body, requestId: 'request-7' });
    }
  });

  test('rejects without another request when the signal of the call aborts, even in a pause of a minute', async () => {
    for (const listener of [() => undefined, respond(503, '', { 'Retry-After': '60' })]) {
      const stub = await startStub([listener]);
      const call = createStubClient(stub).getTeams({ signal: AbortSignal.timeout(200) });
      await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
      expect(stub.bodies).toHaveLength(1);
    }
    // Only the pause was reported as a retry.
    expect(retries).toHaveLength(1);
  }, 30_000);

  test('waits for the response of a long creation, beyond the 300 s after which undici gives up by default', async () => {
    const sent = Promise.withResolvers<ServerResponse>();
    const stub = await startStub([(_, response) => sent.resolve(response)]);
    const call = createStubClient(stub).addPriceLists(ONE_PRODUCT);
    const response = await sent.promise;
    // A timer of undici starts at the first tick, and expires at the second.
    tick();
    tick(1_000_000);
    response.end(JSON.stringify(CREATED));
    expect(await call).toEqual(CREATED);
    expect(retries).toEqual([]);
  });

  test('sends a body of 65,536 characters or more as gzip', async () => {
    const stub = await startStub(Array<RequestListener>(2).fill(respond(200, '{"orders":{},"count":0}')));
    const others = { start_date: '2026-01-01', end_date: '2026-02-01', status: 'ALL' } as const;
    for (const length of [65_535, 65_536]) {
      const team_id = 'a'.repeat(length - JSON.stringify({ ...others, team_id: '' }).length);
      await createStubClient(stub).getOrdersByTeam({ ...others, team_id });
    }
    const [plain = Buffer.of(), packed = Buffer.of()] = stub.bodies;
    expect([plain.length, gunzipSync(packed).length]).toEqual([65_535, 65_536]);
  });
});

test.each([
  ['a base URL without a scheme', '127.0.0.1:5001/x', KEY, /baseUrl/],
  ['no base URL', '', KEY, /baseUrl/],
  ['a base URL that is not HTTP', 'ftp://127.0.0.1', KEY, /baseUrl/],
  ['no API key', 'http://127.0.0.1:1', '', /apiKey/],
  ['an API key with a line break', 'http://127.0.0.1:1', 'a\nb', /apiKey/],
])('createClient rejects %s', (_, url, apiKey, message) => {
  const create = () => createClient(url, apiKey);
  expect(create).toThrow(TypeError);
  expect(create).toThrow(message);
});

test.each([Number.NaN, 0, 0.5, -1, Infinity, 2 ** 31])('createClient rejects a time of %d ms', (ms) => {
  expect(() => createClient('http://127.0.0.1:1', KEY, { retryForMs: ms })).toThrow('retryForMs must be ');
  expect(() => createClient('http://127.0.0.1:1', KEY, { requestTimeoutMs: ms })).toThrow('requestTimeoutMs must be ');
});

describe('the client with proxy variables', () => {
  afterEach(() => jest.restoreAllMocks());

  /** Imports the client in an environment, and calls an operation of a host that only a proxy can reach. */
  async function callWith(variables: NodeJS.ProcessEnv): Promise<unknown> {
    jest.replaceProperty(process, 'env', variables);
    let create: typeof createClient | undefined;
    jest.isolateModules(() => {
      create = jest.requireActual<{ createClient: typeof createClient }>('../../docs/examples/client/src').createClient;
    });
    return create?.('http://service.invalid', KEY, { retryForMs: 1 }).getTeams();
  }

  test.each(['http_proxy', 'HTTP_PROXY'])(
    'calls through an HTTP proxy that %s names without a scheme',
    async (name) => {
      const proxy = await startStub([respond(200, '{"teams":{},"count":0}')]);
      expect(await callWith({ [name]: proxy.url.replace('http://', '') })).toEqual({ teams: {}, count: 0 });
      expect(proxy.bodies).toHaveLength(1);
    },
  );

  test.each([
    ['http_proxy', 'http://user:secret@10.0.0.1:port'],
    ['https_proxy', '10.0.0.1:31280000'],
    ['HTTPS_PROXY', 'ftp://10.0.0.1'],
  ])('fails a call at once, but not the import, if %s is not the address of a proxy', async (name, value) => {
    const message = `the environment variable ${name.toLowerCase()} or ${name.toUpperCase()} is not the address of a proxy`;
    await expect(callWith({ [name]: value })).rejects.toEqual(new TypeError(message));
  });
});

describe('the package of the client', () => {
  /** A folder in which only the client and its library are installed. */
  let folder: string;

  beforeAll(async () => {
    folder = temporaryFolder();
    const pack = ['pack', resolve('docs/examples/client'), '--json', '--pack-destination', folder];
    const { stdout } = await runProgram('npm', pack);
    const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }];
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    // Copies the library, because the test must work without a registry, and npm 10 cannot install the library from this checkout.
    cpSync('node_modules/undici', join(folder, 'node_modules/undici'), { recursive: true });
    const install = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', join(folder, filename)];
    await runProgram('npm', install, { cwd: folder });
  });

  test('lets the program in its README compile and run', async () => {
    const readme = readFileSync('docs/examples/client/README.md', 'utf8');
    const [, program = ''] = /^```ts\n([^]*?)^```$/m.exec(readme) ?? [];
    const file = join(folder, 'program.mts');
    writeFileSync(file, program.replace(/https:[^']*/, baseUrl).replace('your-api-key', KEY));
    const typeRoots = resolve('node_modules/@types');
    const options = ['--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    const tsc = [resolve('node_modules/typescript/bin/tsc'), ...options, '--typeRoots', typeRoots, file];
    await runProgram(process.execPath, tsc, { cwd: folder });
    const { stdout } = await runProgram(process.execPath, [join(folder, 'program.mjs')]);
    expect(stdout).toBe('KES\n');
  });
});
