import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import type { DocumentData, Firestore, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import type { ListKind } from '../../src/lib/repositories/price-lists';
import { requireKeyRecord, type Attempt, type KeyRecord } from '../../src/lib/schemas/key-record';
import { toEntries } from '../../src/price-lists/entries';
import { compareEntries } from '../../audit/entry-differences';
import {
  checkAttempt,
  checkKeyRecord,
  checkSweepDueAt,
  getAttemptsOfKey,
  type AttemptDocuments,
  type StoredList,
  type Violation,
} from '../../audit/invariants';
import { computeFingerprint, parseStoredPayload, streamCanonicalJson } from '../../src/price-lists/payload';
import type { PriceListSubmission } from '../../src/price-lists/submission-parser';
import { readAllDocuments } from '../support/firestore';

/**
 * Checks what must hold of the database at any moment and after any fault (docs/reliability.md): the
 * invariants of the audit, and that it stores only what was submitted. It reads through the real SDK.
 */

const LISTS = {
  expected_forward_cost: { collection: 'expected_forward_costs', price: 'expected_forward_cost_price' },
  price_list: { collection: 'price_lists', price: 'price_list_price' },
} as const;

/**
 * Checks every record of add price lists, given all submissions that were ever sent.
 *
 * @param strays ids of key records to skip, because the service did not store them
 * @returns the records of the keys, by key
 * @throws AssertionError that names the violated rule
 */
export async function checkInvariants(
  db: Firestore,
  submitted: readonly PriceListSubmission[],
  strays: readonly string[] = [],
): Promise<Map<string, KeyRecord>> {
  const submissions = new Map(submitted.map((submission) => [computeFingerprint(submission), submission]));
  const documents = byCollection(await readAllDocuments(db));
  const getAll = (collection: string) => [...(documents.get(collection) ?? [])];

  const keys = getAll('price_list_idempotency').filter(([id]) => !strays.includes(id));
  const records = keys.map(([id, document]) => {
    const record = requireKeyRecord(document);
    assertNone([...checkKeyRecord(record, id), ...checkSweepDueAt(record, document['sweep_due_at'])]);
    return record;
  });
  const attempts = records.flatMap((record) => [record, ...record.history]);
  const claimedLists = attempts.flatMap(({ lists }) => lists ?? []);
  const assertIds = (collection: string, ids: string[], what: string) =>
    assert.deepEqual(
      getAll(collection)
        .map(([id]) => id)
        .sort(),
      ids.sort(),
      what,
    );
  assertIds(
    'price_list_requests',
    attempts.map((a) => a.document_id),
    'one request record for each accepted attempt',
  );
  assertIds(
    'expected_forward_costs',
    claimedLists.map((c) => c.expected_forward_cost_id),
    'one cost list for each attempt with a market',
  );
  assertIds(
    'price_lists',
    claimedLists.map((c) => c.price_list_id),
    'one price list for each attempt with a market',
  );

  for (const recorded of records.flatMap(getAttemptsOfKey)) {
    const { record, attempt } = recorded;
    const submission = submissions.get(attempt.fingerprint);
    assert(submission, 'only submitted payloads are accepted');
    assert.equal(submission.info.boq_list_id, record.boq_list_id, 'an attempt is of its own key');
    const stored = await toAttemptDocuments(documents, attempt);
    assertNone(checkAttempt(recorded, stored));
    if (stored.payload.kind === 'invalid') continue;
    const text = gunzipSync(Buffer.concat(getChunks(documents, attempt))).toString();
    const canonical = [...streamCanonicalJson(submission)].join('');
    assert.equal(text, canonical, 'a payload is recoverable byte for byte');
  }
  return new Map(records.map((record) => [record.boq_list_id, record]));
}

function assertNone(violations: readonly Violation[]): void {
  assert.deepEqual(
    violations.map(({ rule, path, message }) => `${rule}: ${path} ${message}`),
    [],
  );
}

type Documents = Map<string, Map<string, DocumentData>>;

/** Groups documents by the path of their collection, then by id, in the order of ids. */
function byCollection(docs: readonly QueryDocumentSnapshot[]): Documents {
  const documents: Documents = new Map();
  for (const document of docs) {
    const { path } = document.ref.parent;
    const collection = documents.get(path) ?? new Map<string, DocumentData>();
    documents.set(path, collection.set(document.id, document.data()));
  }
  return documents;
}

const getChunks = (documents: Documents, { document_id }: Pick<Attempt, 'document_id'>): Buffer[] =>
  [...(documents.get(`price_list_requests/${document_id}/price_list_payload`)?.values() ?? [])].map(
    (chunk) => chunk['data'] as Buffer,
  );

/** Returns an attempt as the audit reads it, with all entries compared. */
async function toAttemptDocuments(documents: Documents, attempt: Attempt): Promise<AttemptDocuments> {
  const { document_id, lists } = attempt;
  const request = documents.get('price_list_requests')?.get(document_id);
  const payload = await parseStoredPayload(getChunks(documents, attempt), attempt);
  if (lists === null) return { request, payload, lists: null };
  const wanted = payload.kind === 'valid' ? toEntries(payload.submission.products) : null;
  const toList = async (kind: ListKind): Promise<StoredList> => {
    const { collection, price } = LISTS[kind];
    const id = lists[`${kind}_id`];
    const entries = documents.get(`${collection}/${id}/products`) ?? new Map<string, DocumentData>();
    const prices = [...entries].map(([product, entry]) => [product, entry[price] as unknown] as const);
    return {
      document: documents.get(collection)?.get(id),
      entryCount: entries.size,
      entries: wanted && (await compareEntries(wanted[kind], prices)),
    };
  };
  const stored = {
    expected_forward_cost: await toList('expected_forward_cost'),
    price_list: await toList('price_list'),
  };
  return { request, payload, lists: stored };
}
