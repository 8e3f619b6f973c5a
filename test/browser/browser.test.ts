import type { Browser, Page } from 'puppeteer-core';
import { operationNames } from '../../dev/run/operations';
import { cleanUp, startLocalServer, type LocalServer } from '../harness/local-server';
import { launchChromium } from './chromium';
import { expectAccessible, findViolations, readTexts as readTextsOf, setColorScheme } from './inspection';

/** Tests what only a browser shows: how the pages of `npm start` look, and whether they work under their content security policies. */

let service: LocalServer;
let browser: Browser;
let page: Page;
/** The addresses that the page has requested, and the errors that occurred in it. */
const requested: string[] = [];
const problems: string[] = [];

beforeAll(async () => {
  [service, browser] = await Promise.all([startLocalServer({}), launchChromium()]);
  page = await browser.newPage();
  // No timeout, because a busy machine can need more than Puppeteer's 30 s. Jest fails a test that hangs.
  page.setDefaultTimeout(0);
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
});

describe('the reference page', () => {
  test('shows every operation, and loads nothing from another server', async () => {
    await setColorScheme(page, 'dark');
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
  ])('%s: %s succeeds with the API key that the page fills in', async (tag, name, expected) => {
    const operation = `#operations-${tag}-${name}`;
    // A mouse click could miss, because an operation that opens moves those below it.
    await page.evaluate(`document.querySelector('${operation} .opblock-summary-control').click()`);
    await page.locator(`${operation} .execute`).click();
    const body = `${operation} .live-responses-table .highlight-code`;
    await page.waitForSelector(body);
    expect((await readTexts(body))[0]).toContain(expected);
    expect(problems).toEqual([]);
  });

  test('lists the headers of most responses once, at the top, and not below each response', async () => {
    expect(await readTexts('.info details td:first-child')).toContain('X-Request-Id');
    const headers = await readTexts('.opblock .headers tbody td:first-child');
    expect(headers).toEqual(expect.arrayContaining(['Allow', 'Retry-After']));
    expect(headers).not.toContain('X-Request-Id');
  });
});

test('the search of a data page finds the price list that the reference page created', async () => {
  await page.goto(getUrl('/data/teams'));
  await page.type('input[name="find"]', 'boq-2026-06');
  await Promise.all([page.waitForNavigation(), page.click('button')]);
  expect((await readTexts('td')).slice(0, 4)).toEqual(['boq-2026-06 ', 'completed', 'Kenya, June 2026', '06/2026']);
  expect(problems).toEqual([]);
  expect(requested.filter(isElsewhere)).toEqual([]);
});

const PAGES = [
  '/docs/README.md',
  '/docs/architecture.md',
  '/docs/api.md',
  '/docs/examples',
  '/data',
  '/data/orders',
  '/data/orders/ord-2026-00332',
];

test('a page with a guide beside the list of guides is accessible', async () => {
  await openPage('/docs/decisions/README.md');
  expect(await readTexts('.guides a[aria-current]')).toEqual(['Decisions']);
  expect(await findViolations(page)).toEqual([]);
});

/** Opens a page and waits for what its scripts draw. */
async function openPage(path: string): Promise<void> {
  await page.goto(getUrl(path));
  if (path === '/') await page.waitForSelector('.opblock');
  await page.waitForFunction("document.querySelector('pre.mermaid:not([data-processed])') === null");
}

describe('on a phone', () => {
  beforeAll(() => page.setViewport({ width: 360, height: 800 }));

  test.each(['/', ...PAGES])(
    '%s fits the screen, follows the colour scheme of the system, and is accessible',
    async (path) => {
      await setColorScheme(page, 'light');
      await openPage(path);
      await expectAccessible(page, 'light');
      await setColorScheme(page, 'dark');
      // A diagram keeps the colours that the system had when the page was loaded.
      if ((await page.$('pre.mermaid')) !== null) await openPage(path);
      await expectAccessible(page, 'dark');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    },
  );

  test('the link at the top of a guide scrolls to the list of guides', async () => {
    await openPage('/docs/operations.md');
    await page.click('.to-guides');
    expect(await page.evaluate("document.querySelector('.guides').getBoundingClientRect().top")).toBeLessThan(800);
  });

  test('the status of a price list is visible without scrolling to the right', async () => {
    await page.goto(getUrl('/data'));
    const right = "document.querySelector('td .status').getBoundingClientRect().right";
    expect(await page.evaluate(right)).toBeLessThan(360);
  });
});

const getUrl = (path: string) => new URL(path, service.address('getTeams')).href;

const isElsewhere = (url: string) => !url.startsWith(getUrl('/')) && !url.startsWith('data:');

const readTexts = (selector: string) => readTextsOf(page, selector);
