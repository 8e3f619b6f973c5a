import type { Firestore } from '@google-cloud/firestore';
import * as functions from '../../src';
import { readKeyRecord } from '../../records/stored-records';
import { release } from '../../src/price-lists/resume';
import { getDatabase } from '../../src/lib/firestore/database';
import { createWorkContext } from '../../src/lib/work-context';
import { Indexes } from '../../../packages/firestore-local/src/internal';
import type { IndexDefinitions, MapValue, Value } from '../../../packages/firestore-local/src';
import { operations } from '../support/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';
import { readAllDocuments } from '../support/firestore';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

/**
 * Each composite index and each exemption of firestore.indexes.json is needed. A missing index fails
 * every suite that sends its query, because the embedded Firestore enforces the declared indexes.
 */

type Composite = NonNullable<IndexDefinitions['indexes']>[number];

const declared = readDeclaredIndexes();
/** The indexes of the running Firestore. A test removes one. */
let indexesInForce: Composite[] = [];

const service = useTestService(functions, {
  ...declared,
  get indexes() {
    return indexesInForce;
  },
});

beforeEach(() => {
  service.reset();
  indexesInForce = [...(declared.indexes ?? [])];
});

/** Requests whose queries need the indexes. */
const READS = [
  ['getOrdersByTeam', 'ALL'],
  ['getOrdersByTeam', 'WAITING'],
  ['supplyOrdersInvoices', null],
  ['supplyOrdersInvoices', 0],
] as const;

test.each((declared.indexes ?? []).map((index, i) => [nameOf(index), i] as const))(
  'without the index %s a request or the query of docs/consuming-lists.md fails',
  async (_, i) => {
    indexesInForce.splice(i, 1);
    for (const [name, status] of READS) await service.call(name, { json: { ...operations[name].body, status } });
    const failed = service.log.filter(({ status }) => status === 500).map(({ reason }) => String(reason));
    await findLatestList(service.db).catch((error: unknown) => failed.push(String(error)));
    expect(failed).toEqual([expect.stringContaining('The query requires an index')]);
  },
);

const findLatestList = (db: Firestore) =>
  db
    .collection('price_lists')
    .where('market_id', '==', 'mkt-ken')
    .where('date', '==', '06/2026')
    .where('status', '==', 'ready')
    .orderBy('created_at', 'desc')
    .limit(1)
    .get();

describe('exemptions', () => {
  // A TTL override serves retention (docs/data-model.md#retention). It saves no entries, because the service does not write its field.
  const overrides = (declared.fieldOverrides ?? []).filter((override) => override.ttl !== true);

  test('each saves index entries for a key that failed, was released and was claimed again', async () => {
    const { db, firestore, call } = service;
    await writeMarket(db);
    firestore.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    const json = createPriceListBody(10);
    expect((await call('addPriceLists', { json })).status).toBe(500);
    const context = createWorkContext(AbortSignal.timeout(20_000));
    const database = getDatabase(context);
    const { record } = await readKeyRecord(database, 'boq-1');
    if (record === undefined) throw new Error('no record of boq-1');
    await release(record, { by: 'test', reason: 'test' }, database, context);
    expect((await call('addPriceLists', { json })).status).toBe(200);

    const withAll = await entriesUnder(declared);
    for (const override of overrides) {
      const without = { ...declared, fieldOverrides: overrides.filter((each) => each !== override) };
      expect([nameOf(override), await entriesUnder(without)]).not.toEqual([nameOf(override), withAll]);
    }
  });

  // A collection with an indexed value that only grows accepts 500 writes a second
  // (https://firebase.google.com/docs/firestore/best-practices), so no field of a price entry is indexed.
  test('save 4 entries for each product: a list of 1,203 products costs 113 instead of 4,953', async () => {
    const { db, call } = service;
    await writeMarket(db);
    const before = [await entriesUnder(declared), await entriesUnder({ ...declared, fieldOverrides: [] })];
    expect((await call('addPriceLists', { json: createPriceListBody(1_203) })).status).toBe(200);
    const after = [await entriesUnder(declared), await entriesUnder({ ...declared, fieldOverrides: [] })];
    expect(after.map((entries, i) => entries - (before[i] ?? 0))).toEqual([113, 4953]);
  });
});

/** Counts the index entries that Firestore keeps for all documents under the given definitions. */
async function entriesUnder(definitions: IndexDefinitions): Promise<number> {
  const indexes = new Indexes(definitions);
  let entries = 0;
  for (const document of await readAllDocuments(service.db)) {
    entries += indexes.countEntries(document.ref.parent.id, valueOf(document.data()) as MapValue);
  }
  return entries;
}

/** Converts a value to the form of the embedded Firestore. */
function valueOf(value: unknown): Value {
  if (Array.isArray(value)) return value.map(valueOf);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value as Value;
  return new Map(Object.entries(value).map(([key, each]) => [key, valueOf(each)]));
}

function nameOf(index: Composite | NonNullable<IndexDefinitions['fieldOverrides']>[number]): string {
  const fields = 'fields' in index ? index.fields.map(({ fieldPath }) => fieldPath) : [index.fieldPath];
  return `${index.collectionGroup} (${fields.join(', ')})`;
}
