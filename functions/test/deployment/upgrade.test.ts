import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { addPriceLists } from '../../src/add-price-lists';
import { getDatabase } from '../../src/lib/firestore/database';
import { createRequestContext } from '../../src/lib/request-context';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { readKeyRecord } from '../../audit/stored-records';
import { resume } from '../../src/price-lists/resume';
import { AFTER_NEXT_SWEEP, readAllRecords, readListEntries } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

/**
 * Records that every version since 1.0.0 wrote, kept as files, under the present one: read,
 * replayed, rejected and resumed. A version that changes the shape of a record raises
 * `schema_version`, adds its file, and leaves these as they are.
 *
 * After a rollback it is the reverse: the older version reads what this one wrote. With its code
 * that is checked by `npm run release:check` (rollout.ts), here by the shape of the records.
 */

interface Fixture {
  responses: { completed: string; 'without-market': string };
  documents: Record<string, Record<string, unknown>>;
}

const FIXTURES = 'functions/test/deployment/fixtures';
const versions = readdirSync(FIXTURES).filter((file) => /^schema-\d+\.json$/.test(file));

const service = useTestService({ addPriceLists });

const submit = (boq_list_id: string, products = 3, market_id = 'market-1') =>
  service.call('addPriceLists', { json: createPriceListBody(products, { boq_list_id, market_id }) });

const keyRecordOf = (boq_list_id: string) =>
  service.db.collection('price_list_idempotency').doc(keyDocumentId(boq_list_id));

describe.each(versions)('records of %s', (file) => {
  const fixture = JSON.parse(readFileSync(`${FIXTURES}/${file}`, 'utf8')) as Fixture;

  beforeEach(async () => {
    service.reset();
    const batch = service.db.batch();
    for (const [path, fields] of Object.entries(fixture.documents)) batch.set(service.db.doc(path), stored(fields));
    await batch.commit();
  });

  test('a completed key is replayed, byte for byte, with and without a market', async () => {
    for (const [response, text] of [
      [await submit('completed'), fixture.responses.completed],
      [await submit('without-market', 2, 'nowhere'), fixture.responses['without-market']],
    ] as const) {
      expect([response.status, response.headers['idempotent-replayed'], response.text]).toEqual([200, 'true', text]);
    }
    expect((await submit('completed', 2)).json).toEqual({
      error: 'Idempotency key already used with a different payload',
    });
  });

  test('a key that requires review, or whose lease expired, returns 409 until it is resolved', async () => {
    // Of the one the cause is not known; the other crashed, so the sweep resumes it.
    for (const [key, retryAfter] of [
      ['requires-review', undefined],
      ['processing', AFTER_NEXT_SWEEP],
    ] as const) {
      const { status, headers } = await submit(key);
      expect([status, headers['retry-after']]).toEqual([409, retryAfter]);
      expect((await keyRecordOf(key).get()).get('status')).toBe('requires_review');
    }
  });

  test.each(['requires-review', 'processing'])('the attempt %s is resumed from its stored payload', async (key) => {
    const context = createRequestContext(AbortSignal.timeout(20_000));
    const db = getDatabase(context);
    const record = await readKeyRecord(db, key);
    if (record?.creation == null) throw new Error(`${key} is not among the records`);
    const decision = { by: 'test', reason: 'upgrade' };
    const response = await resume(record, decision, db, context);

    expect((await submit(key)).text).toBe(response);
    const { expected_forward_cost_id, price_list_id } = record.creation;
    const { products } = createPriceListBody(3);
    const entriesOf = (list: string) => readListEntries(service.db, list);
    expect(await entriesOf(`price_lists/${price_list_id}`)).toEqual(pricesOf(products, 'price_list_price'));
    expect(await entriesOf(`expected_forward_costs/${expected_forward_cost_id}`)).toEqual(
      pricesOf(products, 'expected_forward_cost_price'),
    );
    expect((await service.db.doc(`price_lists/${price_list_id}`).get()).get('status')).toBe('ready');
  });
});

test('a record of an unknown version returns 500, is logged, and stays unchanged', async () => {
  service.reset();
  await submit('completed', 2, 'nowhere');
  await keyRecordOf('completed').update({ schema_version: 2, shape: 'unknown' });
  const before = (await keyRecordOf('completed').get()).data();
  service.log.length = 0;
  const { status, text } = await submit('completed', 2, 'nowhere');
  expect([status, text]).toEqual([500, '{"error":"Internal error"}']);
  expect(service.log).toMatchObject([
    {
      severity: 'ERROR',
      reason: 'the record of the key cannot be read as schema version 1, because of: schema_version',
    },
  ]);
  expect((await keyRecordOf('completed').get()).data()).toEqual(before);
});

/** Fields added after 1.0.0, which ignores them. Each has a default for records without it. */
const ADDED_FIELDS = [
  'automatic_resumes',
  'failure_cause',
  'fingerprint_version',
  'key_id',
  'progress',
  'request_id',
  'sweep_due_at',
  'trace_id',
];

describe('for a rollback to 1.0.0', () => {
  const fixture = JSON.parse(readFileSync(`${FIXTURES}/schema-1.json`, 'utf8')) as Fixture;

  beforeEach(async () => {
    service.reset();
    await service.db.doc('markets/market-1').set(fixture.documents['markets/market-1'] ?? {});
  });

  /** Submits the fixture's payload. @returns its records, of `processing` as entries arrive */
  async function writeRecords(key: string): Promise<Records> {
    let inProgress: Records = {};
    const readRecords = async () => {
      inProgress = await readAllRecords(service.db);
    };
    service.firestore.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
      action:
        key === 'requires-review' ? { kind: 'error', code: 'PERMISSION_DENIED' } : { kind: 'call', run: readRecords },
    });
    if (key === 'without-market') await submit(key, 2, 'nowhere');
    else await submit(key);
    return key === 'processing' ? inProgress : readAllRecords(service.db);
  }

  test.each(['completed', 'without-market', 'requires-review', 'processing'])(
    'the records of the key %s have all that 1.0.0 wrote, and of the rest only what it ignores',
    async (key) => {
      const frozen = Object.fromEntries(
        Object.entries(fixture.documents).map(([path, fields]) => [path, stored(fields)]),
      );
      const [before, now] = [describeRecords(frozen, key), describeRecords(await writeRecords(key), key)];
      expect(now).toMatchObject(before);
      expect(Object.keys(now).sort()).toEqual(Object.keys(before).sort());
      for (const [path, fields] of Object.entries(now)) {
        const known = Object.keys(before[path] ?? {});
        const added = Object.keys(fields).filter((name) => !known.includes(name));
        expect(ADDED_FIELDS).toEqual(expect.arrayContaining(added));
      }
    },
  );
});

type Records = Record<string, Record<string, unknown>>;

/** The records of a key without what differs each time, as the entries of an unfinished attempt. */
function describeRecords(records: Records, key: string): Records {
  const record = records[`price_list_idempotency/${keyDocumentId(key)}`] as unknown as KeyRecord;
  const { document_id, creation, status } = record;
  const ids = [keyDocumentId(key), document_id, creation?.expected_forward_cost_id, creation?.price_list_id];
  const described = Object.entries(records).flatMap(([path, fields]) => {
    const [collection, id, subcollection, ...below] = path.split('/');
    if (!ids.includes(id) || (subcollection === 'products' && status !== 'completed')) return [];
    return [[[collection, subcollection, ...below].join('/'), withoutChance(fields)] as const];
  });
  return Object.fromEntries(described) as Records;
}

/** A value with placeholders for ids, tokens and times; payloads and responses are unpacked. */
function withoutChance(value: unknown): unknown {
  if (typeof value === 'number') return value > 1e12 ? 'a time' : value;
  if (typeof value === 'string') {
    if (/^([A-Za-z0-9]{20}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.test(value)) return 'an id';
    return value.startsWith('{') ? withoutChance(JSON.parse(value)) : value;
  }
  if (Buffer.isBuffer(value)) return gunzipSync(value).toString();
  if (Array.isArray(value)) return value.map(withoutChance);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutChance(each)]));
}

/** Fields of a fixture as Firestore stores them: bytes stand in it as base64. */
function stored(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const { base64 } = (value ?? {}) as { base64?: string };
      return [name, base64 === undefined ? value : Buffer.from(base64, 'base64')];
    }),
  );
}

function pricesOf(
  products: ReturnType<typeof createPriceListBody>['products'],
  price: 'price_list_price' | 'expected_forward_cost_price',
) {
  return Object.fromEntries(Object.entries(products).map(([id, prices]) => [id, { [price]: prices[price] }]));
}
