import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Firestore } from '@google-cloud/firestore';
import { createDataRoutes } from '../data';
import { PAGE_SIZE } from '../data/data-source';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';

/** The data pages by HTTP, over a real Firestore client and the embedded Firestore. */

let firestore: EmbeddedFirestore;
let db: Firestore;
let server: Server;
let origin: string;

beforeAll(async () => {
  firestore = await startFirestore();
  db = new Firestore({ projectId: 'pages', host: firestore.address, ssl: false, customHeaders: {} });
  const getRoute = createDataRoutes(() => Promise.resolve(db));
  server = createServer((request, response) => {
    const route = getRoute((request.url ?? '').split('?', 1)[0] ?? '');
    if (route === undefined) response.writeHead(404).end();
    else route(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  firestore.faults.clear();
  firestore.clear();
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await db.terminate();
  await firestore.close();
});

async function get(path: string, init?: RequestInit): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(origin + path, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Returns the ids of the documents in a page's tables. */
const getIds = (page: string) => [...page.matchAll(/<td class="id"><a href="[^"]*">([^<]*)<\/a>/g)].map(([, id]) => id);

const getLink = (page: string, text: string) =>
  [...page.matchAll(/<a [^>]*?href="([^"]*)"[^>]*>([^<]*)<\/a>/g)]
    .find(([, , label]) => label === text)?.[1]
    ?.replaceAll('&amp;', '&');

async function write(collection: string, count: number, data: (i: number) => object): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const batch = db.batch();
    for (let i = from; i < Math.min(from + 500, count); i++)
      batch.set(db.doc(`${collection}/${String(i).padStart(6, '0')}`), data(i));
    await batch.commit();
  }
}

test('the overview lists every collection, described ones first, with its number of documents, and says when there is none', async () => {
  expect((await get('/data')).text).toContain('The database is empty.');
  await write('custom', 1, () => ({}));
  await write('teams', 3, () => ({ name: 'A team' }));
  const { status, text } = await get('/data');
  expect(status).toBe(200);
  expect(text.replace(/\s+/g, ' ')).toMatch(
    /teams<\/a><\/td> ?<td class="right">3<.*>Teams<.*custom<\/a><\/td> ?<td class="right">1</,
  );
});

test('a collection is read page by page, each document once, in the order of ids', async () => {
  await write('orders', PAGE_SIZE * 2 + 1, (i) => ({ status: 'WAITING', number: i }));
  const ids: (string | undefined)[] = [];
  for (let url: string | undefined = '/data/orders'; url !== undefined;) {
    const { text } = await get(url);
    expect(text).toContain(`${PAGE_SIZE * 2 + 1} documents`);
    expect(getIds(text).length).toBeLessThanOrEqual(PAGE_SIZE);
    ids.push(...getIds(text));
    url = getLink(text, 'Next page →');
  }
  expect(ids).toEqual(Array.from({ length: PAGE_SIZE * 2 + 1 }, (_, i) => String(i).padStart(6, '0')));
});

test('a status filters, a column sorts in both directions over pages, and an id can be found', async () => {
  await write('price_lists', 120, (i) => ({ status: i % 3 === 0 ? 'ready' : 'failed', number: (i * 7) % 120 }));
  const first = (await get('/data/price_lists')).text;
  const ready = (await get(getLink(first, 'ready') ?? '')).text;
  expect(ready).toContain('40 documents');
  expect(getIds(ready)).toEqual(Array.from({ length: 40 }, (_, i) => String(i * 3).padStart(6, '0')));

  const sorted = (await get(getLink(first, 'number') ?? '')).text;
  const next = (await get(getLink(sorted, 'Next page →') ?? '')).text;
  const numbers = (page: string) =>
    [...page.matchAll(/class="number" title="(\d+)"/g)].map(([, value]) => Number(value));
  expect([...numbers(sorted), ...numbers(next)]).toEqual(Array.from({ length: 100 }, (_, i) => 119 - i));
  const ascending = (await get(getLink(sorted, 'number') ?? '')).text;
  expect(numbers(ascending)[0]).toBe(0);

  expect(getIds((await get('/data/price_lists?from=0001165')).text)).toEqual(['000117', '000118', '000119']);
});

test('a document shows its fields, links to other documents, and the beginning of its subcollections', async () => {
  await db.doc('markets/mkt-ken').set({ name: { en: 'Kenya' } });
  await db.doc('price_lists/one').set({
    status: 'ready',
    market_id: 'mkt-ken',
    created_at: 1_783_320_000_000,
    payload: Buffer.alloc(1_234),
    nested: { list: [1, { deep: true }], none: null },
    response: '{"success":true}',
  });
  await write('price_lists/one/products', 1_203, (i) => ({ price_list_price: i }));
  const { text } = await get('/data/price_lists/one');
  expect(getLink(text, 'mkt-ken')).toBe('/data/markets/mkt-ken');
  for (const shown of ['2026-07-06 06:40:00.000 UTC', '1,234 bytes', 'deep', 'null', '&quot;success&quot;: true'])
    expect(text).toContain(shown);
  expect(getLink(text, 'ready')).toContain('value=%22ready%22');
  expect(text).toContain('1,203 documents');
  expect(getIds(text)).toHaveLength(10);
  const entries = (await get(getLink(text, 'All 1,203 →') ?? '')).text;
  expect(getIds(entries)).toHaveLength(PAGE_SIZE);
});

test('what is stored is escaped wherever it appears', async () => {
  const attack = `"'><script>alert(1)</script>`;
  await db
    .collection('teams')
    .doc(attack.replace('/', ''))
    .set({ [attack]: attack, status: attack, team_id: attack.replace('/', '') });
  const list = await get('/data/teams');
  const id = encodeURIComponent(attack.replace('/', ''));
  const document = await get(`/data/teams/${id}`);
  const views = [
    `/data/teams?from=${id}`,
    `/data/teams?field=status&value=${id}`,
    `/data/teams?sort=${id}`,
    `/data/${id}`,
  ];
  for (const { text } of [list, document, ...(await Promise.all(views.map((view) => get(view))))]) {
    expect(text).not.toContain('<script>');
    expect(text).not.toContain(`"'>`);
  }
  expect(document.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
});

test('ids with any characters have pages', async () => {
  const id = 'ä b?c#d%e&f+g';
  await db.collection('teams').doc(id).set({ name: 'Odd' });
  const { text } = await get('/data/teams');
  expect((await get(getLink(text, id.replaceAll('&', '&amp;')) ?? '')).text).toContain('Odd');
});

test('fields with any name are shown, and sorted by', async () => {
  const names = ['constructor', 'toString', '~*/[]', 'a.b', '`', ' ', '-x'];
  await db.doc('odd/with').set(Object.fromEntries(names.map((name) => [name, `value of ${name}`])));
  await db.doc('constructor/x').set({});
  const { status, text } = await get('/data/odd');
  expect(status).toBe(200);
  expect(text).not.toContain('native code');
  for (const name of names) {
    const sorted = await get(getLink(text, name) ?? '');
    expect([name, sorted.status, getIds(sorted.text)]).toEqual([name, 200, ['with']]);
    expect(sorted.text).toContain(`value of ${name}`);
  }
  expect((await get('/data')).text).not.toContain('native code');
});

test('a number that is no moment is shown as it is', async () => {
  const last = 8_640_000_000_000_000;
  await db.doc('odd/times').set({ last_at: last, past_at: last + 1, never_at: NaN, far_at: 1e300 });
  for (const path of ['/data/odd', '/data/odd/times']) {
    const { status, text } = await get(path);
    expect(status).toBe(200);
    for (const shown of ['+275760-09-13 00:00:00.000 UTC', '>8640000000000001<', '>NaN<', '>1e+300<'])
      expect(text).toContain(shown);
  }
});

test.each([
  ['/data/teams/none', 404],
  ['/data/unknown', 404],
  ['/data/%E0%A4', 400],
  ['/data/teams?sort=', 400],
  ['/data/teams?from=a/b', 400],
  ['/data/teams?from=__x__', 400],
  ['/data/teams?sort=name&from=none', 400],
  ['/data/teams/__x__', 400],
  ['/data/__x__', 400],
])('%s: %d, as a page', async (path, status) => {
  const response = await get(path);
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
});

test('an error of Firestore is shown, not thrown', async () => {
  firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
  const response = await get('/data/teams');
  expect(response.status).toBe(500);
  expect(response.text).toContain('PERMISSION_DENIED');
});

test('the pages are read-only and load no script', async () => {
  expect((await get('/data/teams', { method: 'POST' })).status).toBe(405);
  const { headers, text } = await get('/data');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(text).not.toContain('<script');
});

test('a column can be sorted by unless firestore.indexes.json exempts its field', async () => {
  await db.doc('price_lists/one').set({ name: 'One', price_list_price: 1 });
  await db.doc('price_lists/one/products/two').set({ name: 'Two', price_list_price: 1 });
  const findSorts = async (path: string) => (await get(path)).text.match(/sort=-\w+/g)?.sort();
  expect(await findSorts('/data/price_lists')).toEqual(['sort=-name', 'sort=-price_list_price']);
  expect(await findSorts('/data/price_lists/one/products')).toEqual(['sort=-name']);
});

test('numbers are aligned at their right, times and a status are not', async () => {
  await db.doc('priced/one').set({ price: 1.5, count: 2, made_at: 1_783_320_000_000, status: 1 });
  await db.doc('priced/two').set({ price: 1_000, count: 'many' });
  const heads = [...(await get('/data/priced')).text.matchAll(/<th class="(\w*)"[^]*?>(\w+)<\/a>/g)];
  expect(Object.fromEntries(heads.map(([, className, name]) => [name, className]))).toEqual({
    price: 'right',
    count: '',
    made_at: '',
    status: '',
  });
});

test('what is sorted, filtered and skipped is said, each with the link that removes it', async () => {
  await write('orders', 3, (i) => ({ status: 'WAITING', number: i }));
  const sorted = (await get('/data/orders?sort=-number')).text;
  expect(sorted).toContain('aria-sort="descending"');
  expect(findConditions(sorted)).toEqual([['/data/orders', 'sorted by number, descending']]);
  const filtered = (await get('/data/orders?field=status&value=%22WAITING%22&from=000001')).text;
  expect(findConditions(filtered)).toEqual([
    ['/data/orders?from=000001', 'status: WAITING'],
    ['/data/orders?field=status&amp;value=%22WAITING%22', 'from 000001 on'],
  ]);
});

const findConditions = (page: string) =>
  [...page.matchAll(/class="condition"\s+href="([^"]*)"[^>]*>([^<]*)</g)].map(([, url, text]) => [url, text]);
