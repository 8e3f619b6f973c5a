import * as functions from '../../src';
import { countEntries, countKeyRecordsWithStatus, findKeyRecords, readKeyRecord } from '../../audit/stored-records';
import {
  countKeysInReview,
  readKeysByStatus,
  UNRESOLVED_STATUSES,
  readDueKeys,
  readPayloadChunks,
  streamStoredEntries,
} from '../../src/lib/repositories/price-lists';
import { release } from '../../src/price-lists/resume';
import { getDatabase } from '../../src/lib/firestore/database';
import { createRequestContext } from '../../src/lib/request-context';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { Indexes } from '../../../packages/firestore-local/src/internal';
import type { Filter, IndexDefinitions, MapValue, Requests, Value } from '../../../packages/firestore-local/src';
import { operationNames, operations, type OperationName } from '../support/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';
import { readAllDocuments } from '../support/firestore';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

/**
 * firestore.indexes.json against every query that the service and the operator's command can send:
 * each is served, no declared index could be left out, and no exemption could.
 */

type Composite = NonNullable<IndexDefinitions['indexes']>[number];

const declared = readDeclaredIndexes();
/** What the running Firestore goes by; a test takes one out. */
const inForce: { indexes: Composite[] } = { indexes: [] };

const service = useTestService(functions, {
  ...declared,
  ...inForce,
  get indexes() {
    return inForce.indexes;
  },
});

beforeEach(() => {
  service.reset();
  inForce.indexes = [...(declared.indexes ?? [])];
});

const STATUSES: Partial<Record<OperationName, readonly unknown[]>> = {
  getOrdersByTeam: ['ALL', 'WAITING'],
  supplyOrdersInvoices: [null, 0, 1],
};

/** Every form of a request that reads: each value of its `status`, if it has one. */
const reads = operationNames
  .filter((name) => name !== 'addPriceLists')
  .flatMap((name): [OperationName, object][] => {
    const { body } = operations[name];
    const statuses = STATUSES[name] ?? [undefined];
    return statuses.map((status) => [name, body === undefined ? {} : { json: { ...body, status } }]);
  });

const callAll = async () => {
  const statuses = [];
  for (const [operation, request] of reads) statuses.push((await service.call(operation, request)).status);
  return statuses;
};

/** A key that is known to be there. */
async function recordOf(boq_list_id: string): Promise<KeyRecord> {
  const record = await readKeyRecord(database(), boq_list_id);
  if (record === undefined) throw new Error(`no record of ${boq_list_id}`);
  return record;
}

const requestContext = () => createRequestContext(AbortSignal.timeout(20_000));

const database = () => getDatabase(requestContext());

/** A key that fails, is released and is claimed again; and a submission without a market. */
async function liveThroughEverything(products: number): Promise<void> {
  const { db, firestore, call } = service;
  await db.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' });
  firestore.faults.inject({
    rpc: 'Commit',
    match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  const json = createPriceListBody(products);
  expect((await call('addPriceLists', { json })).status).toBe(500);
  await release(await recordOf('boq-1'), { by: 'test', reason: 'test' }, database(), requestContext());
  expect((await call('addPriceLists', { json })).status).toBe(200);
  const nowhere = createPriceListBody(1, { boq_list_id: 'boq-2', market_id: 'nowhere' });
  expect((await call('addPriceLists', { json: nowhere })).status).toBe(200);
}

test('every query with a filter is one of these shapes, and each is served', async () => {
  const calls = service.recordCalls();
  expect(await callAll()).toEqual(reads.map(() => 200));
  await liveThroughEverything(10);
  const db = database();
  const record = await recordOf('boq-1');
  const [key] = await readKeysByStatus(db, ['completed']);
  await readKeysByStatus(db, UNRESOLVED_STATUSES, key);
  for (const from of [undefined, 0, key && { ...key, sweepDueAt: 0 }]) await readDueKeys(db, Date.now(), from);
  await countKeyRecordsWithStatus(db);
  await countKeysInReview(db);
  await readPayloadChunks(db, record);
  // An id of none of them is looked for in all.
  expect(await findKeyRecords(db, 'nothing')).toEqual([]);
  for (const kind of ['expected_forward_cost', 'price_list'] as const) {
    if (record.creation === null) throw new Error('no lists were created');
    await countEntries(db, kind, record.creation);
    expect(await streamStoredEntries(db, kind, record.creation).next()).toMatchObject({ done: false });
  }
  const queries = calls.flatMap(({ rpc, request, outcome }) =>
    rpc === 'RunQuery' || rpc === 'RunAggregationQuery'
      ? [{ shape: shapeOf(request as Requests['RunQuery']), outcome }]
      : [],
  );
  expect(queries.filter(({ outcome }) => outcome !== 'OK')).toEqual([]);
  // A query of a whole collection needs no composite index.
  const filtered = queries.map(({ shape }) => shape).filter((shape) => shape.includes(' where '));
  expect([...new Set(filtered)].sort()).toEqual([
    'orders where team_id ==, created_at >=, created_at < by created_at',
    'orders where team_id ==, created_at >=, created_at <, status == by created_at',
    'price_list_idempotency where status ==',
    'price_list_idempotency where status in',
    'price_list_idempotency where sweep_due_at <= by sweep_due_at',
    'price_list_requests where expected_forward_cost_id ==',
    'price_list_requests where price_list_id ==',
    'price_list_requests where request_id ==',
    'supply_orders where team_id ==, created_at >=, created_at < by created_at',
    'supply_orders where team_id ==, created_at >=, created_at <, status == by created_at',
  ]);
});

test.each((declared.indexes ?? []).map((index, i) => [nameOf(index), i] as const))(
  'without the index %s some request fails',
  async (_, i) => {
    inForce.indexes.splice(i, 1);
    const statuses = await callAll();
    expect(statuses).toContain(500);
    const failed = service.log.filter(({ status }) => status === 500);
    for (const line of failed) expect(line['reason']).toContain('The query requires an index');
  },
);

describe('exemptions', () => {
  // A TTL serves retention (docs/data-model.md#retention), and saves no entries: the service does not write its field.
  const overrides = (declared.fieldOverrides ?? []).filter((override) => override.ttl !== true);

  test('each saves index entries in a life of a price list', async () => {
    await liveThroughEverything(10);
    const withAll = await entriesUnder(declared);
    for (const override of overrides) {
      const without = { ...declared, fieldOverrides: overrides.filter((each) => each !== override) };
      expect([nameOf(override), await entriesUnder(without)]).not.toEqual([nameOf(override), withAll]);
    }
  });

  // No field of an entry is indexed: a collection in which an indexed value only grows takes 500
  // writes a second (https://firebase.google.com/docs/firestore/best-practices).
  test('save 4 entries a product: a list of 1,203 products costs 110 instead of 4,950', async () => {
    const { db, call } = service;
    await db.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' });
    const before = [await entriesUnder(declared), await entriesUnder({ ...declared, fieldOverrides: [] })];
    expect((await call('addPriceLists', { json: createPriceListBody(1_203) })).status).toBe(200);
    const after = [await entriesUnder(declared), await entriesUnder({ ...declared, fieldOverrides: [] })];
    expect(after.map((entries, i) => entries - (before[i] ?? 0))).toEqual([110, 4950]);
  });
});

/** Index entries of all documents, as Firestore counts them under the definitions. */
async function entriesUnder(definitions: IndexDefinitions): Promise<number> {
  const indexes = new Indexes(definitions);
  let entries = 0;
  for (const document of await readAllDocuments(service.db)) {
    entries += indexes.countEntries(document.ref.parent.id, valueOf(document.data()) as MapValue);
  }
  return entries;
}

/** A value as the embedded Firestore holds it. */
function valueOf(value: unknown): Value {
  if (Array.isArray(value)) return value.map(valueOf);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value as Value;
  return new Map(Object.entries(value).map(([key, each]) => [key, valueOf(each)]));
}

/** What of a query decides the index that it needs. */
function shapeOf({ query }: Requests['RunQuery']): string {
  const { collectionId = '(any)', allDescendants, filter, orderBy } = query;
  const where = termsOf(filter).join(', ');
  // Every index ends in the documents' names, so an order by them at the end asks for nothing more.
  const order = orderBy.filter(({ path, descending }) => path.join('.') !== '__name__' || descending);
  const by = order.map(({ path, descending }) => path.join('.') + (descending ? ' descending' : '')).join(', ');
  return [allDescendants ? `group ${collectionId}` : collectionId, where && `where ${where}`, by && `by ${by}`]
    .filter(Boolean)
    .join(' ');
}

function termsOf(filter: Filter | undefined): string[] {
  if (filter === undefined) return [];
  if (filter.kind === 'field' || filter.kind === 'unary') return [`${filter.path.join('.')} ${filter.op}`];
  return filter.filters.flatMap(termsOf);
}

function nameOf(index: Composite | NonNullable<IndexDefinitions['fieldOverrides']>[number]): string {
  const fields = 'fields' in index ? index.fields.map(({ fieldPath }) => fieldPath) : [index.fieldPath];
  return `${index.collectionGroup} (${fields.join(', ')})`;
}
