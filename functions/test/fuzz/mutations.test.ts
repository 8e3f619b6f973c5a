import assert from 'node:assert/strict';
import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { addPriceLists } from '../../src/add-price-lists';
import { getOrdersByTeam } from '../../src/get-orders-by-team';
import { supplyOrdersInvoices } from '../../src/supply-orders-invoices';
import { operations, postOperationNames } from '../support/operations';
import { writeMarket } from '../support/price-lists';
import { type TestRequest, useTestService } from '../support/service';
import { anyCharacter } from '../support/arbitrary-text';

const service = useTestService({ addPriceLists, getOrdersByTeam, supplyOrdersInvoices });
beforeAll(async () => {
  await prepare();
});

const RUNS = 1_000;
const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);

// An interface may refer to itself where a type may not.
interface Fields {
  [key: string]: Json;
}
type Json = null | boolean | number | string | Json[] | Fields;
type Mutation<T> = (value: T) => T;

/** Values that have broken a service before. */
const nasty = fc.constantFrom<Json>(
  null,
  true,
  0,
  -0,
  -1,
  1e308,
  1.5,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '__proto__',
  '..',
  'a/b',
  '2024-02-30',
  '0050-01-01',
  '13/2026',
  'x'.repeat(10_001),
  [],
  {},
  [[]],
  { toString: 1 },
  { length: 3 },
  { constructor: { name: 'x' } },
);
const anyJson = fc.oneof(nasty, fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>, fc.string({ unit: anyCharacter }));
const anyKey = fc.oneof(
  fc.constantFrom(
    'info',
    'products',
    'status',
    'team_id',
    'market_id',
    'boq_list_id',
    'date',
    '',
    '__proto__',
    'constructor',
    '.',
    '0',
    'x'.repeat(1501),
  ),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
);

const isObject = (value: Json): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own fields only, also one that is called `__proto__`. */
const withField = (value: Fields, key: string, field: Json): Fields =>
  Object.fromEntries<Json>([...Object.entries(value).filter(([each]) => each !== key), [key, field]]);

/** Changes one place of a value: it walks down by `path`, and replaces, removes, adds or renames there. */
const inValue: fc.Arbitrary<Mutation<Json>> = fc
  .record({
    path: fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }),
    kind: fc.constantFrom('replace', 'replace', 'remove', 'add', 'rename'),
    value: anyJson,
    key: anyKey,
  })
  .map(({ path, kind, value, key }) => {
    const change = (node: Json, [step = 0, ...deeper]: number[]): Json => {
      if (!isObject(node) || Object.keys(node).length === 0) return value;
      const chosen = Object.keys(node)[step % Object.keys(node).length] ?? '';
      const { [chosen]: child = null, ...others } = node;
      if (deeper.length > 0 && isObject(child)) return withField(node, chosen, change(child, deeper));
      switch (kind) {
        case 'replace':
          return withField(node, chosen, value);
        case 'remove':
          return others;
        case 'add':
          return withField(node, key, value);
        default:
          return withField(others, key, child);
      }
    };
    return (body) => change(body, path);
  });

/** Changes the bytes themselves: some are cut out, and others put in their place. */
const inBytes: fc.Arbitrary<Mutation<Buffer>> = fc
  .record({
    at: fc.nat(10_000),
    cut: fc.nat(8),
    put: fc.oneof(
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom('{', '}', '[', '"', ',', ':', '\\', '\\ud800', '1e400', '-', 'null', '\ufeff', '\u0000')
        .map((text) => Buffer.from(text)),
    ),
  })
  .map(({ at, cut, put }) => (bytes) => {
    const from = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + cut)]);
  });

type Headers = Record<string, string | undefined>;

const headers: fc.Arbitrary<Headers> = fc.record(
  {
    'content-type': fc.constantFrom(
      'application/json; charset=utf-8',
      'text/plain',
      '',
      'application/json; charset=latin1',
      ';',
    ),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br', 'GZIP', ''),
    'accept-encoding': fc.constantFrom('gzip', 'br', '*', 'nonsense;q=2'),
    'x-request-id': fc.constantFrom('a', 'é', 'two words'),
    origin: fc.constantFrom('null', 'https://evil.example.com'),
  },
  { requiredKeys: [] },
);

const mutated = fc.record({
  name: fc.constantFrom(...postOperationNames),
  values: fc.array(inValue, { maxLength: 3 }),
  bytes: fc.array(inBytes, { maxLength: 2 }),
  // Half of the requests keep their headers, so that what is in the body is looked at.
  headers: fc.oneof(fc.constant<Headers>({}), headers),
  packed: fc.boolean(),
});

/** Accepted submissions are stored completely. Ends with a database of only the market. */
async function expectStoredCompletely(): Promise<void> {
  const statuses = (await service.db.collection('price_lists').get()).docs.map((each) => each.get('status') as string);
  expect(statuses.every((status) => status === 'ready')).toBe(true);
  await prepare();
}

async function prepare(): Promise<void> {
  service.reset();
  await writeMarket(service.db);
}

test(`${RUNS} random mutations of valid bodies give no 5xx, and nothing but JSON (SEED=${seed})`, async () => {
  const seen: Record<number, number> = {};
  await fc.assert(
    fc.asyncProperty(mutated, async ({ name, values, bytes, headers, packed }) => {
      const value = values.reduce<Json>((body, mutate) => mutate(body), operations[name].body);
      const plain = bytes.reduce<Buffer>((body, mutate) => mutate(body), Buffer.from(JSON.stringify(value)));
      const isGzip = packed && headers['content-encoding']?.toLowerCase() === 'gzip';
      const request: TestRequest = {
        body: isGzip ? gzipSync(plain) : plain,
        headers: { 'content-type': 'application/json', ...headers },
      };
      const before = service.firestore.counts();
      const { status, json } = await service.call(name, request);
      seen[status] = (seen[status] ?? 0) + 1;
      assert([200, 400].includes(status), `the status ${status}`);
      assert(json instanceof Object);
      // A rejected body has not reached the database, so it left nothing there.
      if (status === 400) assert.deepEqual(service.firestore.counts(), before);
      else if (name === 'addPriceLists') await expectStoredCompletely();
    }),
    { numRuns: RUNS, seed },
  );
  // The mutations are neither all rejected nor all accepted.
  expect(seen[200]).toBeGreaterThan(RUNS / 50);
  expect(seen[400]).toBeGreaterThan(RUNS / 4);
}, 300_000);
