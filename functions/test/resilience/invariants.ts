import assert from 'node:assert/strict';
import type { DocumentData, Firestore, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { fields } from '../../src/lib/firestore/collections';
import { LIST_COLLECTIONS, LIST_KINDS, type ListKind } from '../../src/lib/repositories/price-lists';
import { requireKeyRecord, type Attempt } from '../../src/lib/schemas/key-record';
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
import { computeFingerprint, parseStoredPayload } from '../../src/price-lists/payload';
import type { PriceListSubmission } from '../../src/price-lists/submission-parser';
import { readAllDocuments } from '../support/firestore';

/**
 * Checks what must hold of the database at any moment and after any fault (docs/reliability.md): the invariants of
 * the audit that hold without sweeps, and that every accepted payload is one of `submitted`.
 *
 * @param strays ids of key records to skip, because the service did not store them
 * @throws Error that names the violated rule, or the invalid fields of a key record
 */
export async function checkInvariants(
  db: Firestore,
  submitted: readonly PriceListSubmission[],
  strays: readonly string[] = [],
): Promise<void> {
  const submissions = new Map(submitted.map((submission) => [computeFingerprint(submission), submission]));
  const documents = byCollection(await readAllDocuments(db));
  const keys = [...(documents.get('price_list_idempotency') ?? [])].filter(([id]) => !strays.includes(id));
  const records = keys.map(([id, document]) => {
    const record = requireKeyRecord(document);
    assertNone([...checkKeyRecord(record, id), ...checkSweepDueAt(record, document['sweep_due_at'])]);
    return record;
  });
  const attempts = records.flatMap((record) => [record, ...record.history]);
  const assertIds = (collection: string, ids: string[], what: string) =>
    assert.deepEqual([...(documents.get(collection)?.keys() ?? [])].sort(), ids.sort(), what);
  const requests = attempts.map(({ document_id }) => document_id);
  assertIds('price_list_requests', requests, 'one request record for each accepted attempt');
  for (const kind of LIST_KINDS) {
    const ids = attempts.flatMap(({ lists }) => lists?.[`${kind}_id`] ?? []);
    assertIds(LIST_COLLECTIONS[kind], ids, 'one list of each kind for each attempt with a market');
  }

  for (const recorded of records.flatMap(getAttemptsOfKey)) {
    const { record, attempt } = recorded;
    const submission = submissions.get(attempt.fingerprint);
    assert.equal(submission?.info.boq_list_id, record.boq_list_id, 'an attempt has a payload submitted for its key');
    assertNone(checkAttempt(recorded, await toAttemptDocuments(documents, attempt)));
  }
}

function assertNone(violations: readonly Violation[]): void {
  assert.deepEqual(
    violations.map(({ rule, path, message }) => `${rule}: ${path} ${message}`),
    [],
  );
}

type Documents = Map<string, Map<string, DocumentData>>;

/** Groups documents by the path of their collection, then by id. */
function byCollection(docs: readonly QueryDocumentSnapshot[]): Documents {
  const documents: Documents = new Map();
  for (const document of docs) {
    const { path } = document.ref.parent;
    const collection = documents.get(path) ?? new Map<string, DocumentData>();
    documents.set(path, collection.set(document.id, document.data()));
  }
  return documents;
}

/** Returns the records of an attempt for the checks of the audit, with all entries compared. */
async function toAttemptDocuments(documents: Documents, attempt: Attempt): Promise<AttemptDocuments> {
  const { document_id, lists } = attempt;
  const request = documents.get('price_list_requests')?.get(document_id);
  const chunks = documents.get(`price_list_requests/${document_id}/price_list_payload`)?.values() ?? [];
  const payload = await parseStoredPayload(
    Array.from(chunks, ({ data }) => data as Buffer),
    attempt,
  );
  if (lists === null) return { request, payload, lists: null };
  const wanted = payload.kind === 'valid' ? toEntries(payload.submission.products) : null;
  const toList = async (kind: ListKind): Promise<StoredList> => {
    const collection = LIST_COLLECTIONS[kind];
    const id = lists[`${kind}_id`];
    const entries = documents.get(`${collection}/${id}/products`) ?? new Map<string, DocumentData>();
    const prices = [...entries].map(([product, entry]) => [product, entry[fields.entry[kind]] as unknown] as const);
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
