import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'puppeteer-core';
import { operationNames } from '../../functions/test/support/operations';
import { cleanUp, startLocalServer, type LocalServer } from '../support/local-server';
import { launchChromium } from './chromium';

/** What only a browser shows: which pages may read warehouses, and how the pages of `npm start` look and work under their policies. */

const KEY = 'browser-test-key';

let service: LocalServer;
let browser: Browser;
let allowed: Server;
let other: Server;
let page: Page;
/** The addresses that the page has requested, and the errors in it. */
const requested: string[] = [];
const problems: string[] = [];

beforeAll(async () => {
  [allowed, other] = await Promise.all([startDashboard(), startDashboard()]);
  [service, browser] = await Promise.all([
    startLocalServer({ API_KEY: KEY, CORS_ALLOWED_ORIGINS: getOrigin(allowed) }),
    launchChromium(),
  ]);
  page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 1000 });
  page.on('request', (request) => requested.push(request.url()));
  page.on('requestfailed', (request) => problems.push(`${request.url()} failed`));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
});

beforeEach(() => {
  requested.length = problems.length = 0;
});

afterAll(async () => {
  await browser.close();
  await cleanUp();
  for (const server of [allowed, other]) server.close();
});

describe('a dashboard’s page', () => {
  test('from an allowed origin may read warehouses and the request id', async () => {
    await openDashboard(allowed);
    const cells = await readTexts('td');
    expect(cells).toHaveLength(21 * 3);
    expect(cells.slice(cells.indexOf('wh-coo-1')).slice(0, 3)).toEqual(['wh-coo-1', 'null', 'BEN']);
    expect((await readTexts('#request-id'))[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('from another origin is blocked by the browser', async () => {
    await openDashboard(other);
    expect(await readTexts('td')).toEqual([]);
    expect(await readTexts('#error')).toEqual(['TypeError: Failed to fetch']);
  });
});

describe('the reference page', () => {
  test('shows every operation, and loads nothing from anywhere else', async () => {
    await setColorScheme('dark');
    await page.goto(getUrl('/'));
    await page.waitForSelector('.opblock');
    const paths = await readTexts('.opblock-summary-path');
    expect(new Set(paths.map((path) => path.replace(/[^\w/]/g, '')))).toEqual(
      new Set(operationNames.map((name) => `/${name}`)),
    );
    expect(requested.filter(isElsewhere)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test.each([
    ['Organisation_data', 'getTeams', 'East Africa'],
    ['Price_lists', 'addPriceLists', '"name": "Kenya"'],
  ])('%s: %s is tried with the key filled in', async (tag, name, expected) => {
    const operation = `#operations-${tag}-${name}`;
    // A click of the mouse could miss, because an operation that opens moves those below it.
    await page.evaluate(`document.querySelector('${operation} .opblock-summary-control').click()`);
    await page.locator(`${operation} .execute`).click();
    const body = `${operation} .live-responses-table .highlight-code`;
    await page.waitForSelector(body);
    expect((await readTexts(body))[0]).toContain(expected);
    expect(problems).toEqual([]);
  });
});

test('the form of a data page finds an id', async () => {
  await page.goto(getUrl('/data/orders'));
  await page.type('input[name="from"]', 'ord-2026-00337');
  await Promise.all([page.waitForNavigation(), page.click('button')]);
  expect((await readTexts('.id'))[0]).toBe('ord-2026-00337');
  expect(problems).toEqual([]);
  expect(requested.filter(isElsewhere)).toEqual([]);
});

const PAGES = [
  '/docs/README.md',
  '/docs/architecture.md',
  '/docs/api.md',
  '/docs/examples',
  '/docs/openapi.json',
  '/data',
  '/data/orders',
  '/data/orders?sort=-created_at',
  '/data/orders?field=status&value=%22WAITING%22',
  '/data/orders/ord-2026-00332',
  '/data/nothing',
  '/nowhere',
];

test('a guide beside the list of guides is accessible', async () => {
  await openPage('/docs/decisions/README.md');
  expect(await readTexts('.guides a[aria-current]')).toEqual(['Decisions']);
  expect(await findViolations()).toEqual([]);
});

/** Opens a page and waits for what its scripts draw. */
async function openPage(path: string): Promise<void> {
  await page.goto(getUrl(path));
  if (path === '/') await page.waitForSelector('.opblock');
  await page.waitForFunction("document.querySelector('pre.mermaid:not([data-processed])') === null");
}

const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** Returns the serious and critical findings of axe-core: https://dequeuniversity.com/rules/axe. Swagger UI is not ours. */
const findViolations = (): Promise<unknown> =>
  page.evaluate(`${AXE}
    axe.run({ exclude: ['.swagger-ui'] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => [id, ...nodes.map(({ target }) => target.join(' '))]))`);

describe('on a phone', () => {
  beforeAll(() => page.setViewport({ width: 360, height: 800 }));

  test.each(['/', ...PAGES])('%s is as wide as the screen, as bright as the system, and accessible', async (path) => {
    await setColorScheme('light');
    await openPage(path);
    await expectAccessible('light');
    await setColorScheme('dark');
    // Diagrams have the colours that the system has when the page is loaded.
    if ((await page.$('pre.mermaid')) !== null) await openPage(path);
    await expectAccessible('dark');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  test.each(['orders', 'price_list_idempotency'])('a status of %s is in view', async (name) => {
    await page.goto(getUrl(`/data/${name}`));
    const right = "document.querySelector('td .status').getBoundingClientRect().right";
    expect(await page.evaluate(right)).toBeLessThan(360);
  });
});

/** The address of a page of `npm start`. */
const getUrl = (path: string) => new URL(path, service.address('getTeams')).href;

const isElsewhere = (url: string) => !url.startsWith(getUrl('/')) && !url.startsWith('data:');

const setColorScheme = (value: 'light' | 'dark') =>
  page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);

async function expectAccessible(scheme: 'light' | 'dark'): Promise<void> {
  expect(await readBrightness('body')).toBe(scheme);
  expect(await readBrightness('header')).toBe(scheme);
  expect(await findViolations()).toEqual([]);
}

/** Whether an element's background is light or dark. */
async function readBrightness(selector: string): Promise<'light' | 'dark'> {
  const style = `getComputedStyle(document.querySelector('${selector}'))`;
  const color = await page.evaluate(`${style}.backgroundColor`);
  const [red = 0, green = 0, blue = 0] = (String(color).match(/\d+/g) ?? []).map(Number);
  return red + green + blue > 384 ? 'light' : 'dark';
}

/** Returns the texts of all elements that a selector finds. */
async function readTexts(selector: string): Promise<string[]> {
  const found = `document.querySelectorAll(${JSON.stringify(selector)})`;
  return (await page.evaluate(`[...${found}].map(({ textContent }) => textContent)`)) as string[];
}

/** Starts a server with one page, which stands for a dashboard at another origin. */
async function startDashboard(): Promise<Server> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(DASHBOARD);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

const getOrigin = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** A page that calls the address in its fragment and shows a table or the error. */
const DASHBOARD = `<!doctype html><title>Warehouses</title>
<table><tbody></tbody></table><p id="request-id"></p><p id="error"></p>
<script type="module">
  const show = (id, text) => (document.getElementById(id).textContent = text);
  try {
    const response = await fetch(location.hash.slice(1), { headers: { 'x-api-key': '${KEY}' } });
    show('request-id', response.headers.get('X-Request-Id'));
    const { warehouses } = await response.json();
    for (const [id, { name, country_iso }] of Object.entries(warehouses)) {
      const row = document.querySelector('tbody').insertRow();
      for (const text of [id, String(name), country_iso]) row.insertCell().textContent = text;
    }
  } catch (error) {
    show('error', String(error));
  }
  document.body.dataset.done = 'true';
</script>`;

async function openDashboard(server: Server): Promise<void> {
  await page.goto(`${getOrigin(server)}/#${service.address('getWarehouses')}`);
  await page.waitForSelector('[data-done]');
}
