import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import type { DocumentData, Firestore } from 'firebase-admin/firestore';
import type { PriceListSubmission } from '../../src/lib/schemas/add-price-lists';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { computeFingerprint } from '../../src/price-lists/payload';
import { readAllDocuments } from '../support/firestore';
import { requireKeyRecord } from '../support/key-records';

/**
 * What must hold of the database at any moment and after any fault (docs/reliability.md). The expectations are written
 * down from docs/data-model.md and the submissions, without the functions of the service that write the records.
 */

/** The status of both lists, by that of their key. */
export const LIST_STATUS = {
  processing: 'processing',
  completed: 'ready',
  requires_review: 'failed',
  released: 'failed',
};

const LISTS = {
  expected_forward_costs: { id: 'expected_forward_cost_id', price: 'expected_forward_cost_price' },
  price_lists: { id: 'price_list_id', price: 'price_list_price' },
} as const;

type ListCollection = keyof typeof LISTS;

/** The documents of each collection by id, by the path of the collection. */
type Documents = Map<string, Map<string, DocumentData>>;

const getDocuments = (documents: Documents, collection: string) =>
  documents.get(collection) ?? new Map<string, DocumentData>();

/** @param submitted all submissions that were sent @throws Error that says what does not hold */
export async function checkInvariants(db: Firestore, submitted: readonly PriceListSubmission[]): Promise<void> {
  const submissions = new Map(submitted.map((submission) => [computeFingerprint(submission), submission]));
  const documents: Documents = new Map();
  for (const document of await readAllDocuments(db)) {
    const { path } = document.ref.parent;
    documents.set(path, getDocuments(documents, path).set(document.id, document.data()));
  }
  const records = new Map<string, KeyRecord>();
  for (const { sweep_due_at: dueAt, ...stored } of getDocuments(documents, 'price_list_idempotency').values()) {
    const record = requireKeyRecord(stored);
    records.set(record.document_id, record);
    checkDueAt(record, dueAt as number | undefined);
  }

  const requests = getDocuments(documents, 'price_list_requests');
  for (const id of records.keys()) assert(requests.has(id), 'each accepted attempt has a request record');
  const listIds: Record<ListCollection, unknown[]> = { expected_forward_costs: [], price_lists: [] };
  for (const [id, request] of requests) {
    const submission = submissions.get(String(request['fingerprint']));
    assert(submission !== undefined, 'one request record for each accepted attempt, with a submitted payload');
    const record = records.get(id);
    assert(record !== undefined || request['released'] !== undefined, 'only a released attempt has left its key');
    checkRequest(documents, id, request, submission);
    if (record !== undefined) checkResponse(record, request);
    for (const collection of ['expected_forward_costs', 'price_lists'] as const) {
      if (request['market_found'] === false) continue;
      listIds[collection].push(request[LISTS[collection].id]);
      checkList(documents, collection, { id, request, record, submission });
    }
  }
  for (const [collection, ids] of Object.entries(listIds))
    assert.deepEqual([...getDocuments(documents, collection).keys()].sort(), ids.sort(), 'each list has a request');
}

/** The sweep resumes an attempt when its lease ends, and a transient failure at once, after one and after five minutes. */
function checkDueAt({ status, failure_cause, failed_tries, updated_at, lease_expires_at }: KeyRecord, dueAt?: number) {
  const minutes = [0, 0, 1, 5][failed_tries];
  if (status === 'processing') assert.equal(dueAt, lease_expires_at, 'an attempt is due when its lease ends');
  else if (status !== 'requires_review') assert.equal(dueAt, undefined, `${status} is never due`);
  else if (failure_cause !== 'error' && minutes !== undefined)
    assert.equal(dueAt, updated_at + minutes * 60_000, 'a transient failure is due for the sweep');
  else assert([undefined, updated_at].includes(dueAt), 'a key for an operator is due until it is reported');
}

function checkRequest(
  documents: Documents,
  id: string,
  request: DocumentData,
  { info, products }: PriceListSubmission,
): void {
  const chunks = getDocuments(documents, `price_list_requests/${id}/price_list_payload`);
  const packed = Array.from(chunks.values(), ({ data }) => data as Buffer);
  const payload: unknown = JSON.parse(gunzipSync(Buffer.concat(packed)).toString());
  assert.deepEqual(payload, { info, products: Object.fromEntries(products) }, 'the payload is the accepted one');
  const { market_id } = info;
  const expected = { schema_version: 1, info, market_id, products_count: products.size, payload_chunks: chunks.size };
  assert.deepEqual({ ...request, ...expected }, request, 'a request record shows its request');
}

/** Compares the stored response with the records, byte for byte. */
function checkResponse(record: KeyRecord, request: DocumentData): void {
  const { boq_list_id, status, response, lists, document_id, market_id, products_count } = record;
  const info = request['info'] as PriceListSubmission['info'];
  assert.equal(info.boq_list_id, boq_list_id, 'an attempt has a payload submitted for its key');
  assert.equal(request['created_at'], record.claimed_at, 'a request record has the time of its claim');
  if (status !== 'completed') return;
  const base = { success: true, message: 'Payload is valid and stored', products_count, document_id };
  const shown = lists && {
    market: { id: market_id, name: lists.market_name, iso: lists.market_iso },
    expected_forward_cost: { id: lists.expected_forward_cost_id, ...describeList(record, info, 'ready') },
    price_list: { id: lists.price_list_id, ...describeList(record, info, 'ready'), date: info.date },
  };
  const none = { market: null, expected_forward_cost: null, price_list: null };
  assert.equal(response, JSON.stringify({ ...base, ...(shown ?? none) }), 'the response shows what is stored');
}

/** The members of both lists (section 2.6 of the interface specification). */
const describeList = (record: KeyRecord, info: PriceListSubmission['info'], status: string) => ({
  status,
  created_at: record.claimed_at,
  updated_at: record.updated_at,
  currency: record.lists?.currency,
  market_id: info.market_id,
  market_iso: record.lists?.market_iso,
  name: info.name,
  new_date: { year: Number(info.date.split('/')[1]), month: Number(info.date.split('/')[0]) },
});

interface StoredAttempt {
  id: string;
  request: DocumentData;
  /** Undefined for a released attempt whose key has another attempt. */
  record: KeyRecord | undefined;
  submission: PriceListSubmission;
}

function checkList(documents: Documents, collection: ListCollection, attempt: StoredAttempt): void {
  const { request, record, submission } = attempt;
  const { info, products } = submission;
  const { id: idField, price } = LISTS[collection];
  const path = `${collection}/${String(request[idField])}`;
  const list = getDocuments(documents, collection).get(String(request[idField]));
  const status = LIST_STATUS[record?.status ?? 'released'];
  assert.equal(list?.['status'], status, `${path} has the status of its key`);
  if (record !== undefined) {
    const date = collection === 'price_lists' ? { date: info.date } : {};
    assert.deepEqual(list, { ...describeList(record, info, status), ...date }, `${path} has the fields of its attempt`);
  }
  const entries = getDocuments(documents, `${path}/products`);
  for (const [id, entry] of entries)
    assert.deepEqual(entry, { [price]: products.get(id)?.[price] }, `${path}: an entry is one of the payload`);
  if (status === 'ready') assert.equal(entries.size, products.size, `${path}: a ready list has every entry`);
}
