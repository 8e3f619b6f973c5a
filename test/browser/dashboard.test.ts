import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Browser, HTTPRequest, Page } from 'puppeteer-core';
import { sendRequest } from '../../dev/run/http';
import { cleanUp, startLocalServer, temporaryFolder, type LocalServer } from '../harness/local-server';
import { waitFor } from '../harness/wait-for';
import { runProgramSync, startProgram } from '../../dev/run/programs';
import { launchChromium } from './chromium';
import { expectAccessible, readTexts, setColorScheme } from './inspection';

/** Tests the sample dashboard: its backend, the page that reads through the backend, and the page that calls the service directly. */

const KEY = 'browser-test-key';
const BACKEND = 'docs/examples/dashboard/backend.mjs';

let stub: Server;
let backend: ReturnType<typeof startProgram>;
let service: LocalServer;
let browser: Browser;
let page: Page;
/** The origin that the service allows, and another origin of the same backend. */
let allowed: string;
let other: string;
const problems: string[] = [];

/** The responses that {@link hold} has kept, by team id. */
const waiting = new Map<string, ServerResponse>();
let answer: RequestListener;

const sendJson = (response: ServerResponse, body: object, status = 200) =>
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'X-Request-Id': 'request-7' })
    .end(JSON.stringify(body));

/**
 * Stands in for the service. A request without the API key gets 401. `answer` responds to every other request, except reads of
 * teams and markets.
 */
function respond(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['x-api-key'] !== KEY) sendJson(response, { error: 'Unauthorized' }, 401);
  else if (request.url === '/getTeams')
    sendJson(response, { teams: { a: { name: 'Alpha' }, b: { name: null } }, count: 2 });
  else if (request.url === '/getMarkets') sendJson(response, { markets: { m: { name: 'Kenya' } }, count: 1 });
  else answer(request, response);
}

beforeAll(async () => {
  stub = createServer(respond).listen(0, '127.0.0.1');
  await once(stub, 'listening');
  const env = { PORT: '0', API_KEY: KEY, BASE_URL: `http://127.0.0.1:${(stub.address() as AddressInfo).port}/` };
  backend = startProgram(process.execPath, [BACKEND], { env });
  const [line] = (await once(backend.stdout, 'data')) as [Buffer];
  allowed = /http:\S+/.exec(String(line))?.[0] ?? '';
  other = allowed.replace('localhost', '127.0.0.1');
  [service, browser] = await Promise.all([
    startLocalServer({ API_KEY: KEY, CORS_ALLOWED_ORIGINS: allowed }),
    launchChromium(),
  ]);
  page = await browser.newPage();
  // No timeout, because a busy machine can need more than Puppeteer's 30 s. Jest fails a test that hangs.
  page.setDefaultTimeout(0);
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
});
beforeEach(() => {
  problems.length = 0;
  waiting.clear();
});
afterAll(async () => {
  backend.kill();
  stub.close().closeAllConnections();
  await browser.close();
  await cleanUp();
});

test.each([
  ['localhost:3000', 200],
  ['127.0.0.1', 200],
  ['[::1]:3000', 200],
  ['dashboard.example.com', 403],
  ['localhost.example.com:3000', 403],
  ['127.0.0.1.example.com', 403],
  ['a b', 403],
])('the backend responds to the host "%s" with %i', async (host, expected) => {
  const { port } = new URL(other);
  const responses = ['/', '/orders.mjs', '/api/teams'].map((path) =>
    sendRequest(Number(port), { method: 'GET', path, headers: { host } }),
  );
  for (const { status, text } of await Promise.all(responses)) {
    expect(status).toBe(expected);
    if (expected === 403) expect(text).toBe('{"error":"Unknown host"}');
  }
});

describe('the backend in a container, for a user who may read one team', () => {
  const user = { cookie: 'user=ada', host: 'Dashboard.example.com:80' };
  let folder: string;
  let port: number;
  let inContainer: ReturnType<typeof startProgram>;

  beforeAll(async () => {
    folder = temporaryFolder();
    cpSync('docs/examples/dashboard', folder, { recursive: true });
    const file = join(folder, 'backend.mjs');
    const source = readFileSync(file, 'utf8');
    const check = `return request.headers.cookie === 'user=ada' && (teamId === undefined ? operation === 'getTeams' : teamId === 'a');`;
    expect(source).toContain('  return true;\n');
    writeFileSync(file, source.replace('return true;', check));
    const address = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    const listen = { PORT: '0', LISTEN_ADDRESS: '0.0.0.0', HOSTS: 'a.example.com, dashboard.example.com' };
    inContainer = startProgram(process.execPath, [file], { env: { API_KEY: KEY, BASE_URL: address, ...listen } });
    const [line] = (await once(inContainer.stdout, 'data')) as [Buffer];
    port = Number(/(?<!\d)(\d+)\n/.exec(String(line))?.[1]);
  });
  afterAll(() => inContainer.kill());

  const query = (team_id: string) => JSON.stringify({ team_id, status: 'ALL' });

  test.each([
    ['orders of the team', { path: '/api/orders', body: query('a') }, 200],
    ['orders of another team', { path: '/api/orders', body: query('b') }, 403],
    ['invoices of another team', { path: '/api/invoices', body: query('b') }, 403],
    ['two teams in one body', { path: '/api/orders', body: '{"team_id":"b","team_\\u0069d":"a"}' }, 200],
    ['a team that is not a string', { path: '/api/orders', body: '{"team_id":["a"]}' }, 403],
    ['a body that is not JSON', { path: '/api/orders', body: '{' }, 400],
    ['a body that is null', { path: '/api/orders', body: 'null' }, 400],
    ['a body that is too large', { path: '/api/orders', body: query('a'.repeat(100_000)) }, 400],
    ['the teams', { path: '/api/teams' }, 200],
    ['the markets', { path: '/api/markets' }, 403],
  ])("responds as the user's rights and the body require: %s", async (_, { path, ...others }, expected) => {
    const bodies: string[] = [];
    answer = (request, response) =>
      void text(request).then((body) => {
        bodies.push(body);
        sendJson(response, createOrders(1, 'Acacia'));
      });
    const method = 'body' in others ? 'POST' : 'GET';
    const { status } = await sendRequest(port, { method, path, headers: user, ...others });
    expect(status).toBe(expected);
    for (const body of bodies) expect(JSON.parse(body)).toMatchObject({ team_id: 'a' });
    expect((await sendRequest(port, { method, path, headers: { ...user, cookie: '' }, ...others })).status).not.toBe(
      200,
    );
  });

  test('listens on every address of the container', async () => {
    // On Linux, each address of 127.0.0.0/8 is the machine's own.
    const response = await fetch(`http://127.0.0.2:${port}/`, { headers: { connection: 'close' } });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ error: 'Unknown host' });
  });
});

const createOrders = (count: number, customer_name: string, market_id = 'm') => {
  const order = { customer_data: { customer_id: 'c', customer_name }, invoice_id: null, market_id, team_id: 'a' };
  return { orders: Object.fromEntries(Array.from({ length: count }, (_, i) => [`order-${i}`, order])), count };
};

/** Keeps the response to each read, by team id, so that the test can send it later. */
const hold: RequestListener = (request, response) =>
  void text(request).then((body) => waiting.set((JSON.parse(body) as { team_id: string }).team_id, response));

/** Waits until the client has aborted a request, which closes its response. */
const waitUntilClosed = (response: ServerResponse) => waitFor(() => response.closed);

const waitForText = (selector: string, pattern: RegExp) =>
  page.waitForFunction(`${String(pattern)}.test(document.querySelector('${selector}').textContent)`);

const readText = async (selector: string) => (await readTexts(page, selector))[0];

async function openOrders(): Promise<void> {
  await page.goto(`${allowed}/`);
  await page.waitForSelector('[name=show]:not([disabled])');
}

describe('the orders page', () => {
  beforeEach(openOrders);

  test('shows 100,000 orders a page at a time', async () => {
    answer = (_, response) => sendJson(response, createOrders(100_000, 'Acacia'));
    await page.click('[name=show]');
    await waitForText('[role=status]', /^100,000 orders$/);
    expect(await readTexts(page, 'tbody tr:first-child td')).toEqual(['order-0', 'Acacia', 'Kenya', '–']);
    expect((await readTexts(page, 'tbody tr')).length).toBe(100);
    await page.click('[name=next]');
    expect(await readText('section nav span')).toBe('101 to 200 of 100,000');
    expect(await readText('tbody td')).toBe('order-100');
    expect(problems).toEqual([]);
  });

  test('shows the id of an unknown market, even if every object inherits a property of that name', async () => {
    answer = (_, response) => sendJson(response, createOrders(1, 'Acacia', 'constructor'));
    await page.click('[name=show]');
    await waitForText('[role=status]', /^1 order$/);
    expect(await readText('tbody')).toBe('order-0Acaciaconstructor–');
  });

  test('aborts an older read, also at the service, and shows the response of the newer one', async () => {
    answer = hold;
    await page.click('[name=show]');
    const first = await waitFor(() => waiting.get('a'));
    await page.select('[name=team_id]', 'b');
    await page.click('[name=show]');
    const second = await waitFor(() => waiting.get('b'));
    await waitUntilClosed(first);
    sendJson(second, createOrders(1, 'Of b'));
    await waitForText('[role=status]', /^1 order$/);
    expect(await readText('h2')).toMatch(/^b, .* status: Any$/);
    expect(await readText('tbody')).toBe('order-0Of bKenya–');
  });

  test('reads supply orders with their own statuses, and links only to HTTP addresses', async () => {
    const bodies: unknown[] = [];
    answer = (request, response) =>
      void text(request).then((body) => {
        bodies.push(JSON.parse(body));
        const invoices = ['https://example.com/1', 'javascript:alert(1)'].map((url, i) => ({ name: `${i}.pdf`, url }));
        sendJson(response, { supply_orders: [{ id: 'sup-1', invoices }], count: 1 });
      });
    await page.select('[name=kind]', 'invoices');
    await page.select('[name=status]', '1');
    await page.evaluate(
      `document.querySelector('[name=from]').value = document.querySelector('[name=to]').value = '2026-02-28'`,
    );
    await page.click('[name=show]');
    await waitForText('[role=status]', /^1 supply order$/);
    expect(bodies).toEqual([{ team_id: 'a', status: 1, start_date: '2026-02-28', end_date: '2026-03-01' }]);
    expect(await readText('tbody')).toBe('sup-10.pdf 1.pdf ');
    expect(await readTexts(page, 'tbody a')).toEqual(['0.pdf']);
  });

  test('says what went wrong, and shows a message of the service only if the user can correct the cause', async () => {
    const errors = [{ path: 'team_id', message: 'must not be empty' }];
    const failures: [RequestListener, RegExp][] = [
      [(_, response) => sendJson(response, { success: false, errors }, 400), /^team_id: must not be empty$/],
      [(_, response) => sendJson(response, { error: 'Unauthorized' }, 401), /^The data cannot be read at the moment/],
      [(request) => request.destroy(), /^The data cannot be read at the moment/],
      [(_, response) => response.write('{"orders":', () => response.destroy()), /^The response ended early/],
    ];
    for (const [failure, message] of failures) {
      answer = failure;
      await page.click('[name=show]');
      await waitForText('[role=alert]', message);
    }
  });

  test('shows the status of an error that a proxy between the page and the backend sends', async () => {
    let body = '';
    const sendError = (request: HTTPRequest) => void request.respond({ status: 504, body });
    await page.setRequestInterception(true);
    page.on('request', sendError);
    for (body of ['<html>', '', 'null', '{}', '{"errors":{"a":1}}', '{"error":{"code":1}}']) {
      await page.click('[name=show]');
      await waitForText('[role=status]', /^$/);
      expect([body, await readText('[role=alert]')]).toEqual([
        body,
        'The dashboard responds with status 504. Try again later.',
      ]);
    }
    page.off('request', sendError);
    await page.setRequestInterception(false);
  });
});

describe('the warehouses page', () => {
  const open = async (origin: string, key = KEY) => {
    await page.goto(`${origin}/warehouses.html`);
    await page.locator('[name=base]').fill(service.address(''));
    await page.locator('[name=key]').fill(key);
    await page.click('button');
  };

  test('reads directly from the service if its origin is allowed, and shows an error response', async () => {
    await open(allowed);
    await waitForText('[role=status]', /^21 warehouses$/);
    const cells = await readTexts(page, 'td');
    expect(cells.slice(cells.indexOf('wh-coo-1')).slice(0, 3)).toEqual(['wh-coo-1', '–', 'BEN']);
    await open(allowed, 'another-key');
    await waitForText('[role=alert]', /^401 Unauthorized \(X-Request-Id: [0-9a-f-]{36}\)$/);
  });

  test('gets no response if its origin is not allowed, and says what to check', async () => {
    await open(other);
    await waitForText('[role=alert]', /^This page got no response\./);
    expect(await readText('[role=alert]')).toMatch(/base address\. .* status 429, .* allow the origin /);
    expect(await readText('[role=alert]')).toContain(`allow the origin ${other}`);
    expect(problems[0]).toContain(`from origin '${other}' has been blocked by CORS policy`);
  });
});

test.each(['', 'warehouses.html'])(
  'the page "/%s" is accessible in light and dark colours, and fits a phone',
  async (path) => {
    answer = (_, response) => sendJson(response, createOrders(300, 'Acacia'));
    await page.setViewport({ width: 360, height: 800 });
    await page.goto(`${allowed}/${path}`);
    if (path === '') {
      await page.waitForSelector('[name=show]:not([disabled])');
      await page.click('[name=show]');
      await page.waitForSelector('tbody tr');
    }
    for (const scheme of ['light', 'dark'] as const) {
      await setColorScheme(page, scheme);
      await expectAccessible(page, scheme);
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  },
);

test.each([
  ['BASE_URL', () => '', /^BASE_URL must be .*\n$/],
  ['API_KEY', () => '', /^API_KEY must be .*\n$/],
  ['PORT', () => 'abc', /^PORT must be .* not "abc"\.\n$/],
  ['PORT', () => new URL(allowed).port, /^Port \d+ is taken\. .*\n$/],
])('the backend ends with one line that says what is wrong with %s', (name, getValue, message) => {
  const env = { BASE_URL: 'http://127.0.0.1:1', API_KEY: KEY, [name]: getValue() };
  const { status, stderr } = runProgramSync(process.execPath, [BACKEND], { env });
  expect([status, stderr]).toEqual([1, expect.stringMatching(message)]);
});
