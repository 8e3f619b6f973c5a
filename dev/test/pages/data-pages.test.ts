import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Firestore } from '@google-cloud/firestore';
import indexes from '../../../firestore.indexes.json';
import { createDataRoutes } from '../../pages/data';
import { createKeyRecord } from '../../../test/harness/key-records';
import { startFirestore, type EmbeddedFirestore, type IndexDefinitions } from '../../../emulator/src';

/** Tests the data pages over HTTP, with a real Firestore client and the embedded Firestore. */

let firestore: EmbeddedFirestore;
let db: Firestore;
let server: Server;
let origin: string;

beforeAll(async () => {
  firestore = await startFirestore({ indexes: indexes as IndexDefinitions });
  db = new Firestore({ projectId: 'pages', host: firestore.address, ssl: false, customHeaders: {} });
  const getRoute = createDataRoutes(() => Promise.resolve(db));
  server = createServer((request, response) => {
    const route = getRoute((request.url ?? '').split('?', 1)[0] ?? '');
    if (route === undefined) response.writeHead(404).end();
    else void route(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => firestore.clear());
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

const getIds = (page: string) => [...page.matchAll(/<tr>\s*<td><a href="[^"]*">([^<]*)<\/a>/g)].map(([, id]) => id);

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

test('the overview lists every collection with its number of documents, or says that the database is empty', async () => {
  expect((await get('/data')).text).toContain('The database is empty.');
  await write('custom', 1, () => ({}));
  await write('teams', 3, () => ({ name: 'A team' }));
  const { status, text } = await get('/data');
  expect(status).toBe(200);
  expect(text).toMatch(/custom<\/a>: 1 document<[^]*teams<\/a>: 3 documents</);
});

test('the page of orders shows the first 50 documents in order of id, and says so', async () => {
  await write('orders', 51, (i) => ({ status: 'WAITING', number: i }));
  const { text } = await get('/data/orders');
  expect(text).toContain('51 documents. Shows 50, in order of id.');
  expect(getIds(text)).toEqual(Array.from({ length: 50 }, (_, i) => String(i).padStart(6, '0')));
  expect(text).toContain('{ number: 49, status: &#39;WAITING&#39; }');
});

test('the page of a document shows its fields, with times and only the first bytes of a payload, and links to its subcollections', async () => {
  await db.doc('price_lists/one').set({
    status: 'ready',
    created_at: 1_783_320_000_000,
    payload: Buffer.alloc(1_234),
    nested: { list: [1, { deep: true, ended_at: 1_783_320_000_001 }], none: null },
  });
  await write('price_lists/one/products', 1_203, (i) => ({ price_list_price: i }));
  const { text } = await get('/data/price_lists/one');
  for (const shown of [
    'created_at: &#39;2026-07-06 06:40:00.000 UTC',
    '… 1184 more bytes',
    'deep: true',
    '06:40:00.001 UTC',
    'none: null',
  ])
    expect(text).toContain(shown.replace('…', '...'));
  expect(text).toContain('1,203 documents');
  const entries = (await get(getLink(text, 'price_lists/one/products') ?? '')).text;
  expect(getIds(entries)).toHaveLength(50);
});

test('stored text is escaped on the pages of a collection, a document and a search', async () => {
  const attack = `"'><script>alert(1)</script>`;
  await db
    .collection('teams')
    .doc(attack.replace('/', ''))
    .set({ [attack]: attack, status: attack, team_id: attack.replace('/', '') });
  const list = await get('/data/teams');
  const id = encodeURIComponent(attack.replace('/', ''));
  const document = await get(`/data/teams/${id}`);
  const views = [`/data/${id}`, `/data?find=${id}`];
  for (const { text } of [list, document, ...(await Promise.all(views.map((view) => get(view))))]) {
    expect(text).not.toContain('<script>');
    expect(text).not.toContain(`"'>`);
  }
  expect(document.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
});

test('a document whose id has special characters has a page', async () => {
  const id = 'ä b?c#d%e&f+g';
  await db.collection('teams').doc(id).set({ name: 'Odd' });
  const { text } = await get('/data/teams');
  expect((await get(getLink(text, id.replaceAll('&', '&amp;')) ?? '')).text).toContain('Odd');
});

test('U+202E, which reverses the text after it, is shown as an escape', async () => {
  await db.doc('teams/odd').set({ name: 'a\u202eb', list: ['line\nbreak'] });
  for (const path of ['/data/teams', '/data/teams/odd']) {
    const { text } = await get(path);
    expect(text).toContain('a\\u202eb');
    expect(text).not.toContain('\u202e');
  }
});

test('a number is shown as a time only if `Date` can represent it', async () => {
  const last = 8_640_000_000_000_000;
  await db.doc('odd/times').set({ last_at: last, past_at: last + 1, never_at: NaN, far_at: 1e300 });
  for (const path of ['/data/odd', '/data/odd/times']) {
    const { status, text } = await get(path);
    expect(status).toBe(200);
    for (const shown of ['+275760-09-13', '8640000000000001', 'NaN', '1e+300']) expect(text).toContain(shown);
  }
});

test.each([
  '/data/teams/none',
  '/data/unknown',
  '/data?find=a%2Fb',
  '/data/%E0%A4',
  '/data/__x__/y',
  '/data/teams/__x__',
  '/data/teams//x',
  `/data/teams/${'x'.repeat(1_600)}`,
  `/data?find=${'x'.repeat(1_600)}`,
])('%s gets 404 and a page', async (path) => {
  const response = await get(path);
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
});

test('the pages are read-only and load no script', async () => {
  expect((await get('/data/teams', { method: 'POST' })).status).toBe(405);
  const { headers, text } = await get('/data');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(text).not.toContain('<script');
});

describe('price lists', () => {
  const KEY_ID = createHash('sha256').update('BOQ-1').digest('hex');

  /** Writes the records of two attempts of the key BOQ-1, the first of which is released, and the record of another request. */
  beforeEach(async () => {
    const request = (boq_list_id: string, created_at: number, list: string | null) => ({
      info: { boq_list_id, name: `List of ${boq_list_id}`, date: '06/2026' },
      ...{ market_id: 'mkt-ken', key_id: 'acme', products_count: 7, request_id: 'request-1', fingerprint: 'f' },
      ...{ created_at, price_list_id: list, expected_forward_cost_id: list && `cost-${list}` },
    });
    await db.doc('price_list_requests/released').set(request('BOQ-1', 1_783_320_000_000, 'old'));
    await db.doc('price_list_requests/current').set(request('BOQ-1', 1_783_320_000_001, 'new'));
    await db.doc('price_list_requests/other').set(request('BOQ-2', 1_783_320_000_002, null));
    await db.doc('price_lists/old').set({ status: 'failed' });
    await db.doc('price_lists/new').set({ status: 'ready' });
    await db.doc('price_list_requests/released').update({ released: { at: 1_783_320_000_001 } });
    const key = createKeyRecord({ boq_list_id: 'BOQ-1', document_id: 'current', status: 'completed', response: '{}' });
    await db.doc(`price_list_idempotency/${KEY_ID}`).set(key);
  });

  const getRows = (page: string) =>
    [...page.matchAll(/<tr>\s*<td>[^]*?<\/tr>/g)].map(([row]) =>
      row
        .replace(/<[^<>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    );

  const TIME = '2026-07-06 06:40:00';
  const OTHER = `BOQ-2 – List of BOQ-2 06/2026 mkt-ken acme 7 ${TIME}.002 UTC request`;
  const CURRENT = `BOQ-1 completed List of BOQ-1 06/2026 mkt-ken acme 7 ${TIME}.001 UTC request prices costs`;
  const RELEASED = `BOQ-1 released List of BOQ-1 06/2026 mkt-ken acme 7 ${TIME}.000 UTC request prices costs`;

  test.each(['/data', '/data/price_list_requests'])('%s shows the requests newest first', async (path) =>
    expect(getRows((await get(path)).text).slice(0, 3)).toEqual([OTHER, CURRENT, RELEASED]),
  );

  test.each([
    [{ market_found: true, currency_differs: false }, 'completed'],
    [{ market_found: false, currency_differs: false }, 'no_market'],
    [{ market_found: true, currency_differs: true }, 'other_currency'],
  ])('a completed request with %j is shown with the status %s', async (facts, status) => {
    await db.doc('price_list_requests/current').update(facts);
    expect((await get('/data')).text).toContain(`data-status="${status}">${status}<`);
  });

  test.each([
    ['boq_list_id', 'BOQ-1', [CURRENT]],
    ['id of the key record', KEY_ID, [CURRENT]],
    ['document_id', 'released', [CURRENT, RELEASED]],
    ['price_list_id', 'new', [CURRENT]],
    ['price_list_id', 'old', [CURRENT, RELEASED]],
    ['expected_forward_cost_id', 'cost-new', [CURRENT]],
    ['request_id', 'request-1', [CURRENT, RELEASED]],
  ])('the search finds requests by %s', async (_, id, rows) => {
    const { status, text } = await get(`/data?find=${id}`);
    expect([status, getRows(text)]).toEqual([200, rows]);
  });

  test('the search finds a document of another collection', async () => {
    await db.doc('orders/ord-1').set({ status: 'WAITING' });
    expect(getLink((await get('/data?find=ord-1')).text, 'orders/ord-1')).toBe('/data/orders/ord-1');
  });

  test('the pages of a key, a request and a list link to each other', async () => {
    const documents = [`price_list_idempotency/${KEY_ID}`, 'price_list_requests/current', 'price_lists/new'];
    for (const path of documents) {
      const { text } = await get(`/data/${path}`);
      expect(getRows(text)).toContain(CURRENT);
      for (const other of documents) expect(text).toContain(`href="/data/${other}"`);
    }
  });
});

test('a reference is shown as its path', async () => {
  await db.doc('orders/a').set({ team: db.doc('teams/b') });
  for (const path of ['/data/orders', '/data/orders/a']) {
    const { text } = await get(path);
    expect(text).toContain('teams/b');
    expect(text.length).toBeLessThan(20_000);
  }
});
