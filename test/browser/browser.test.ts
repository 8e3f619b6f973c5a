import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, HTTPResponse, Page } from 'puppeteer-core';
import { operationNames } from '../../functions/test/support/operations';
import { createPriceListBody } from '../../functions/test/support/submissions';
import { cleanUp, post, startLocalServer, type LocalServer } from '../support/local-server';
import { launchChromium } from './chromium';

/**
 * The service in a real browser: a dashboard's page that calls warehouses across origins with CORS,
 * and the reference page that `npm start` serves. Set SCREENSHOTS to a folder for pictures of both.
 */

const KEY = 'browser-test-key';

jest.setTimeout(120_000);

let service: LocalServer;
let browser: Browser;
let allowed: Server;
let other: Server;
let page: Page;

beforeAll(async () => {
  [allowed, other] = await Promise.all([dashboard(), dashboard()]);
  [service, browser] = await Promise.all([
    startLocalServer({ API_KEY: KEY, CORS_ALLOWED_ORIGINS: getOrigin(allowed), SAMPLE_DATA: 'true' }),
    launchChromium(),
  ]);
});

afterAll(async () => {
  await browser.close();
  await cleanUp();
  for (const server of [allowed, other]) server.close();
});

async function openPage(): Promise<Page> {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 1000 });
  return page;
}

describe('a dashboard’s page', () => {
  beforeEach(async () => {
    page = await openPage();
  });
  afterEach(() => page.close());

  test('from an allowed origin calls warehouses with the key and shows them', async () => {
    const [preflight, response] = await Promise.all([nextResponse('OPTIONS'), nextResponse('GET'), open(allowed)]);
    const rows = await shown();
    expect(rows).toHaveLength(21);
    expect(rows).toContainEqual(['wh-nbo-1', 'Nairobi Embakasi', 'KEN']);
    expect(rows).toContainEqual(['wh-coo-1', 'null', 'BEN']);
    await picture('dashboard');

    expect(preflight.status()).toBe(204);
    expect(preflight.headers()).toMatchObject({
      'access-control-allow-origin': getOrigin(allowed),
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'x-api-key,Content-Type,X-Request-Id',
      'access-control-max-age': '3600',
    });
    expect(vary(preflight)).toEqual(['Origin']);
    expect(response.status()).toBe(200);
    expect(response.headers()['access-control-allow-origin']).toBe(getOrigin(allowed));
    expect(vary(response)).toEqual(['Origin', 'Accept-Encoding']);
  });

  test('may read the request id', async () => {
    await open(allowed);
    expect((await texts('#request-id'))[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('from another origin is blocked by the browser', async () => {
    const [preflight] = await Promise.all([nextResponse('OPTIONS'), open(other)]);
    expect(preflight.status()).toBe(403);
    expect(vary(preflight)).toContain('Origin');
    expect(preflight.headers()['access-control-allow-origin']).toBeUndefined();
    expect(await shown()).toEqual([]);
    expect(await texts('#error')).toEqual(['TypeError: Failed to fetch']);
  });

  test('of an allowed origin cannot call another operation', async () => {
    await open(allowed, 'getTeams');
    expect(await texts('#error')).toEqual(['TypeError: Failed to fetch']);
  });
});

describe('the reference page', () => {
  const requested: string[] = [];
  const complaints: string[] = [];

  // One page for all tests: loading it takes longer than all that they do with it.
  beforeAll(async () => {
    page = await openPage();
    page.on('request', (request) => requested.push(request.url()));
    page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    await page.goto(getReferenceUrl());
    await page.waitForSelector('.opblock');
  });
  afterAll(() => page.close());

  test('shows every operation, and loads nothing from anywhere else', async () => {
    const paths = await texts('.opblock-summary-path');
    expect(new Set(paths.map((path) => path.replace(/[^\w/]/g, '')))).toEqual(
      new Set(operationNames.map((name) => `/${name}`)),
    );
    await picture('reference');
    expect(requested.filter((url) => !url.startsWith(getReferenceUrl()) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('leads to the guides', async () => {
    const links = (await page.evaluate(
      "[...document.querySelectorAll('.info__description a, .info .markdown a')].map(({ href }) => href)",
    )) as string[];
    const guides = [...new Set(links)].filter((link) => link.includes('/docs/'));
    expect(guides.length).toBeGreaterThan(1);
    for (const guide of guides) expect(await (await fetch(guide)).text()).toMatch(/^# /);
  });

  test('begins with add price lists, explains the preflight under warehouses, and ends with the limits', async () => {
    expect((await texts('.opblock-summary-path'))[0]).toContain('addPriceLists');
    expect(await texts('.opblock-summary-method')).not.toContain('OPTIONS');
    const last =
      "document.querySelector('.limits').compareDocumentPosition([...document.querySelectorAll('.opblock')].at(-1))";
    expect((await page.evaluate(`${last} & Node.DOCUMENT_POSITION_PRECEDING`)) as number).toBeGreaterThan(0);
    expect((await texts('.limits h2'))[0]).toBe('Limits');
    expect(await texts('.info table')).toEqual([]);
  });

  test.each([
    ['Organisation_data', 'getTeams', 'East Africa'],
    ['Organisation_data', 'getOrdersByTeam', 'ord-2026-00332'],
    ['Organisation_data', 'supplyOrdersInvoices', '"supply_orders"'],
    ['Price_lists', 'addPriceLists', '"name": "Kenya"'],
  ])('%s: %s is tried with the key filled in', async (tag, name, expected) => {
    const operation = `#operations-${tag}-${name}`;
    // Not by the mouse: the page moves what is below an operation that opens or closes.
    const toggle = () => page.evaluate(`document.querySelector('${operation} .opblock-summary-control').click()`);
    await toggle();
    await page.locator(`${operation} .execute`).click();
    const body = `${operation} .live-responses-table .highlight-code`;
    await page.waitForSelector(body);
    expect((await texts(body))[0]).toContain(expected);
    await picture(`reference-${name}`);
    // The page renders every open operation again at each change.
    await toggle();
    await page.waitForSelector(`${operation}:not(.is-open)`);
    expect(complaints).toEqual([]);
  });
});

describe('the data pages', () => {
  const problems: string[] = [];
  const requested: string[] = [];

  beforeEach(async () => {
    problems.length = requested.length = 0;
    page = await openPage();
    page.on('request', (request) => requested.push(request.url()));
    page.on('requestfailed', (request) => problems.push(`${request.url()} failed`));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
  });
  afterEach(() => page.close());

  test('lead from the API reference through collections to a price list and its entries', async () => {
    const body = createPriceListBody(1_203, { market_id: 'mkt-ken' });
    const created = await post(service.address('addPriceLists'), JSON.stringify(body), KEY);
    const { price_list } = JSON.parse(created.text) as { price_list: { id: string } };

    await page.goto(getReferenceUrl());
    await follow('header a[href="/data"]');
    await picture('data');
    await follow('a[href="/data/price_lists"]');
    expect(await texts('[data-status]')).toContain('ready');
    await picture('data-price-lists');
    await follow(`a[href="/data/price_lists/${price_list.id}"]`);
    expect(await texts('h2')).toEqual([expect.stringMatching(/^\s*products\s+1,203 documents\s*$/)]);
    await picture('data-price-list');
    await follow(`a[href="/data/price_lists/${price_list.id}/products"]`);
    const first = await texts('.id');
    expect(first).toHaveLength(50);
    await follow('a[rel="next"]');
    const second = await texts('.id');
    expect([...first, ...second]).toEqual(Object.keys(body.products).sort().slice(0, 100));

    const key = `/data/price_list_idempotency?field=boq_list_id&value=${body.info.boq_list_id}`;
    await page.goto(new URL(key, getReferenceUrl()).href);
    await follow('.id a');
    await follow(`a[href="/data/price_lists/${price_list.id}"]`);
    expect(problems).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(getReferenceUrl()) && !url.startsWith('data:'))).toEqual([]);
  });

  test('find a document by its id, and show it with its links', async () => {
    await page.goto(new URL('/data', getReferenceUrl()).href);
    await follow('a[href="/data/orders"]');
    await page.type('input[name="from"]', 'ord-2026-00337');
    await follow('button');
    expect((await texts('.id'))[0]).toBe('ord-2026-00337');
    await follow('.id a');
    await follow('a[href="/data/teams/team-east-africa"]');
    expect(await texts('td')).toContain('East Africa');
    expect(problems).toEqual([]);
  });

  /** Clicks, and waits for the next page. A change of the address alone, as the reference makes, is not one. */
  const follow = async (selector: string) => {
    await page.evaluate('globalThis.isLeft = true');
    await page.locator(selector).click();
    await page.waitForFunction("!('isLeft' in globalThis) && document.readyState === 'complete'");
  };
});

describe('at 400 and 1,400 px, light and dark,', () => {
  const paths = ['/', '/data', '/data/orders', '/data/orders/ord-2026-00332', '/nowhere'];
  const views = [400, 1400].flatMap((width) => ['light', 'dark'].map((scheme) => [width, scheme] as const));
  beforeAll(async () => {
    page = await openPage();
  });
  afterAll(() => page.close());

  test.each(paths)('%s is as wide as the screen and as bright as the system', async (path) => {
    for (const [width, scheme] of views) {
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(new URL(path, getReferenceUrl()).href, { waitUntil: 'networkidle0' });
      await picture(`page-${path.replaceAll('/', '-')}-${width}-${scheme}`);
      expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
      expect([scheme, await readBrightness('body')]).toEqual([scheme, scheme]);
      expect([scheme, await readBrightness('header')]).toEqual([scheme, scheme]);
    }
  });

  test('every text of an operation can be read in the dark', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await page.goto(getReferenceUrl(), { waitUntil: 'networkidle0' });
    await page.evaluate("document.querySelector('.opblock-summary-control').click()");
    await page.waitForSelector('.header-col');
    expect(await page.evaluate(FIND_FAINT_TEXTS)).toEqual([]);
  });

  test.each(['orders', 'price_lists', 'price_list_idempotency'])(
    'the status of %s is on a phone’s screen',
    async (name) => {
      await page.setViewport({ width: 390, height: 844 });
      await page.goto(new URL(`/data/${name}`, getReferenceUrl()).href);
      const right = await page.evaluate("document.querySelector('td .status').getBoundingClientRect().right");
      expect(right).toBeLessThan(390);
    },
  );

  test('a table that is cut has a shadow at the edge that hides columns, and at no other', async () => {
    await page.setViewport({ width: 700, height: 900 });
    await page.goto(new URL('/data/orders', getReferenceUrl()).href);
    expect(await readEdges()).toEqual(['plain', 'shaded']);
    await page.evaluate("document.querySelector('.scroll').scrollLeft = 10_000");
    expect(await readEdges()).toEqual(['shaded', 'plain']);
  });

  /** Compares what is above the text of a row at both edges of the table with its middle. */
  const readEdges = async () => {
    const box = "document.querySelector('.scroll').getBoundingClientRect()";
    const row = "document.querySelector('tbody tr').getBoundingClientRect()";
    const [left, right, top] = (await page.evaluate(`[${box}.left, ${box}.right, ${row}.top]`)) as [
      number,
      number,
      number,
    ];
    const capture = (x: number) =>
      page.screenshot({ clip: { x, y: top + 2, width: 6, height: 3 }, encoding: 'base64' });
    const middle = await capture((left + right) / 2);
    return [
      (await capture(left + 2)) === middle ? 'plain' : 'shaded',
      (await capture(right - 8)) === middle ? 'plain' : 'shaded',
    ];
  };

  test('a table uses the width', async () => {
    await page.setViewport({ width: 1400, height: 900 });
    await page.goto(new URL('/data/orders', getReferenceUrl()).href);
    const width = await page.evaluate("document.querySelector('.documents').getBoundingClientRect().width");
    expect(width).toBeGreaterThan(1_340);
  });

  /** Whether an element's background is light or dark. */
  const readBrightness = async (selector: string) => {
    const color = await page.evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    const [red = 0, green = 0, blue = 0] = (String(color).match(/\d+/g) ?? []).map(Number);
    return red + green + blue > 384 ? 'light' : 'dark';
  };
});

/** The texts of a page whose contrast to their ground is below 3, the least that WCAG 2.2 allows of any text. */
const FIND_FAINT_TEXTS = `(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([red, green, blue]) =>
    [red, green, blue].map((value) => (value / 255) ** 2.2).reduce((sum, value, i) => sum + [0.2126, 0.7152, 0.0722][i] * value, 0);
  const getGround = (element) => {
    const color = parse(getComputedStyle(element).backgroundColor);
    return color[3] === 0 && element.parentElement !== null ? getGround(element.parentElement) : color;
  };
  return [...document.querySelectorAll('#reference *')]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
    .filter((element) => element.checkVisibility() && element.tagName !== 'OPTION')
    .filter((element) => {
      const [dark, light] = [parse(getComputedStyle(element).color), getGround(element)].map(luminance).sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05) < 3;
    })
    .map(({ className, textContent }) => className + ': ' + textContent);
})()`;

/** A server that stands for a dashboard: an origin of its own, and one page. */
async function dashboard(): Promise<Server> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(DASHBOARD);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

/** The page at the root of the functions' port. */
const getReferenceUrl = () => new URL('/', service.address('getTeams')).href;

const getOrigin = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** The page: it calls the address in its fragment and shows a table, or the error. */
const DASHBOARD = `<!doctype html><title>Warehouses</title>
<table border="1"><tbody></tbody></table><p id="request-id"></p><p id="error"></p>
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

async function open(server: Server, operation = 'getWarehouses'): Promise<void> {
  await page.goto(`${getOrigin(server)}/#${service.address(operation)}`);
  await page.waitForSelector('[data-done]');
}

/** The rows of the page's table. */
async function shown(): Promise<string[][]> {
  const cells = await texts('td');
  return Array.from({ length: cells.length / 3 }, (_, row) => cells.slice(row * 3, row * 3 + 3));
}

/** The texts of all elements that a selector finds. */
async function texts(selector: string): Promise<string[]> {
  const found = `document.querySelectorAll(${JSON.stringify(selector)})`;
  return (await page.evaluate(`[...${found}].map(({ textContent }) => textContent)`)) as string[];
}

/** The headers that a response varies on; the browser joins a repeated header by a line break. */
const vary = (response: HTTPResponse) => response.headers()['vary']?.split(/, |\n/);

/** The response to the page's next request with a method. */
const nextResponse = (method: string) =>
  page.waitForResponse(
    (response) => response.request().method() === method && response.url() === service.address('getWarehouses'),
  );

async function picture(name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
