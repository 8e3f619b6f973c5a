import { readdirSync, readFileSync } from 'node:fs';
import { addPriceLists } from '../../src/add-price-lists';
import { getDatabase } from '../../src/lib/firestore/database';
import { createRequestContext } from '../../src/lib/request-context';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { readKeyRecord } from '../../audit/stored-records';
import { resume } from '../../src/price-lists/resume';
import { AFTER_NEXT_SWEEP, readListEntries } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

/**
 * The present version reads, replays, rejects and resumes the records of earlier versions, which are
 * kept as files. A version that changes the shape of a record raises `schema_version`, adds its file,
 * and leaves the earlier files as they are. `npm run release:check` (rollout.ts) checks the reverse:
 * after a rollback the last release handles the records of this version.
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
    // The sweep resumes the second key, whose attempt crashed. It leaves the first, whose cause is unknown.
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

/** Converts the fields of a fixture, which has bytes as base64, to what Firestore stores. */
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
