import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request as openRequest, type IncomingMessage } from 'node:http';
import { cleanUp, call, startLocalServer, temporaryFolder, type LocalServer } from '../harness/local-server';

/** Requests the pages of `npm start` as a browser does, without running their scripts. */

let local: LocalServer;
let origin: string;
beforeAll(async () => {
  local = await startLocalServer({ DATA_DIR: temporaryFolder() });
  origin = new URL(local.address('getTeams')).origin;
});
afterAll(cleanUp);

interface Page {
  status: number;
  headers: Headers;
  /** The addresses of the page's links, styles and scripts. */
  links: string[];
  anchors: string[];
}

const findAll = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);

async function open(address: string): Promise<Page> {
  const response = await fetch(address);
  const { status, headers, url } = response;
  const text = await response.text();
  const isPage = headers.get('content-type')?.startsWith('text/html') === true;
  const targets = isPage ? findAll(text, /<(?:a|link|script)\s[^>]*?(?:href|src)="([^"]*)"/g) : [];
  return {
    status,
    headers,
    links: targets.map((target) => new URL(target.replaceAll('&amp;', '&'), url).href),
    anchors: findAll(text, /\sid="([^"]*)"/g),
  };
}

const STARTS = ['/', '/docs/README.md', '/README.md', '/CONTRIBUTING.md', '/CHANGELOG.md', '/docs/', '/data'];

/** Data pages are alike, so the test opens only some of them. */
const isCrawled = ({ origin: host, pathname, search }: URL) =>
  host === origin && (!pathname.startsWith('/data/') || (pathname.split('/').length < 4 && search === ''));

test('the links between the pages lead to pages and headings that exist, and no page can be sniffed or framed', async () => {
  const pages = new Map<string, Page>();
  const dead: string[] = [];
  const waiting = STARTS.map((path) => ({ from: 'the test', link: origin + path }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const url = new URL(next.link);
    if (!isCrawled(url)) continue;
    const anchor = url.hash.slice(1);
    url.hash = '';
    let page = pages.get(url.href);
    if (page === undefined) {
      page = await open(url.href);
      pages.set(url.href, page);
      waiting.push(...page.links.map((link) => ({ from: url.pathname, link })));
    }
    const isThere = page.status === 200 && (anchor === '' || page.anchors.includes(decodeURIComponent(anchor)));
    if (!isThere) dead.push(`${next.from}: ${next.link}`);
  }
  expect(dead).toEqual([]);
  const documents = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
  const expected = [...documents.map((file) => `/docs/${file}`), '/emulator/README.md', '/data/teams'];
  expect(expected.filter((path) => !pages.has(origin + path))).toEqual([]);
  for (const [address, { headers }] of pages) {
    expect([address, headers.get('x-content-type-options')]).toEqual([address, 'nosniff']);
    expect([address, headers.get('content-security-policy')]).toEqual([
      address,
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
  }
});

test.each([
  '/package-lock.json',
  '/functions/dist/.secret.local',
  '/.git/HEAD',
  '/.local-data/firestore.sqlite',
  '/docs/examples/%2e%2e%2f%2e%2e%2fpackage-lock.json',
  '/docs/..%5c..%5cpackage-lock.json',
  '/docs/%00',
])('%s gets 404, because no page links to such a file', async (path) => {
  expect((await call(origin + path)).status).toBe(404);
});

test('a request whose target is a complete address gets the page only if the host is this machine', async () => {
  const send = async (target: string) => {
    const sent = openRequest(origin, { path: target, agent: false }).end();
    const [{ statusCode, headers }] = (await once(sent, 'response')) as [IncomingMessage];
    return [statusCode, headers['content-type']];
  };
  expect(await send(`${origin}/openapi.json`)).toEqual([200, 'application/json; charset=utf-8']);
  expect(await send(`${origin}/nowhere`)).toEqual([404, 'application/json; charset=utf-8']);
  expect(await send('http://rebound.example.com/openapi.json')).toEqual([403, 'application/json; charset=utf-8']);
});
