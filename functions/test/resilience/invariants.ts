import assert from 'node:assert/strict';
import type { DocumentData, Firestore, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import type { PriceListSubmission } from '../../src/price-lists/submission-parser';
import { keyRecordSchema, type KeyRecord, type ArchivedAttempt } from '../../src/lib/schemas/key-record';
import { computeFingerprint, canonicalJsonChunks, decompressChunks } from '../../src/price-lists/payload';
import { readAllDocuments } from '../support/firestore';
import { toProductEntries } from '../support/submissions';

/** What must hold of the database at any moment, after any fault (docs/reliability.md). Read through the real SDK. */

const LISTS = [
  { collection: 'expected_forward_costs', id: 'expected_forward_cost_id', price: 'expected_forward_cost_price' },
  { collection: 'price_lists', id: 'price_list_id', price: 'price_list_price' },
] as const;

/**
 * Checks every record of add price lists, given all submissions that were ever sent. Throws an AssertionError that
 * says what is broken.
 *
 * @returns the records of the keys, by key
 */
export async function checkInvariants(
  db: Firestore,
  submitted: readonly PriceListSubmission[],
): Promise<Map<string, KeyRecord>> {
  const submissions = new Map(submitted.map((submission) => [computeFingerprint(submission), submission]));
  const documents = byCollection(await readAllDocuments(db));
  const getAll = (collection: string) => [...(documents.get(collection) ?? [])];

  const records = getAll('price_list_idempotency').map(([id, document]) => {
    const record = keyRecordSchema.parse(document);
    assert.equal(id, keyDocumentId(record.boq_list_id), 'a key is stored under its own hash');
    return record;
  });
  const attempts = records.flatMap((record) => [record, ...record.history]);
  const creations = attempts.flatMap(({ creation }) => creation ?? []);
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
    creations.map((c) => c.expected_forward_cost_id),
    'one cost list for each attempt with a market',
  );
  assertIds(
    'price_lists',
    creations.map((c) => c.price_list_id),
    'one price list for each attempt with a market',
  );

  for (const record of records) {
    for (const attempt of [record, ...record.history]) {
      const status = attempt === record ? record.status : 'released';
      const submission = submissions.get(attempt.fingerprint);
      assert(submission, 'only submitted payloads are accepted');
      assert.equal(submission.info.boq_list_id, record.boq_list_id, 'an attempt is of its own key');
      await checkPayload(documents, attempt, submission, status);
      const { creation } = attempt;
      for (const list of creation === null ? [] : LISTS) {
        const id = creation?.[list.id] ?? '';
        const parent = documents.get(list.collection)?.get(id);
        const found = String(parent?.['status']);
        const allowed = statusesOf(status, record);
        assert(allowed.includes(found), `the lists of a ${status} attempt are ${allowed.join(' or ')}, not ${found}`);
        checkEntries(documents, list, id, submission, status === 'completed');
        if (status === 'completed') checkShown(record, list.collection, id, parent);
      }
    }
  }
  return new Map(records.map((record) => [record.boq_list_id, record]));
}

type Documents = Map<string, Map<string, DocumentData>>;

/** Documents by the path of their collection, then by id, in the order of ids. */
function byCollection(docs: readonly QueryDocumentSnapshot[]): Documents {
  const documents: Documents = new Map();
  for (const document of docs) {
    const { path } = document.ref.parent;
    const collection = documents.get(path) ?? new Map<string, DocumentData>();
    documents.set(path, collection.set(document.id, document.data()));
  }
  return documents;
}

/** The statuses that the parents of an attempt may have. While a resume is under way they are still failed. */
function statusesOf(status: KeyRecord['status'], { actions }: KeyRecord): string[] {
  switch (status) {
    case 'processing':
      return actions.some(({ action }) => action === 'resume') ? ['processing', 'failed'] : ['processing'];
    case 'completed':
      return ['ready'];
    case 'requires_review':
    case 'released':
      return ['failed'];
  }
}

async function checkPayload(
  documents: Documents,
  { document_id, payload_chunks }: KeyRecord | ArchivedAttempt,
  submission: PriceListSubmission,
  status: KeyRecord['status'],
): Promise<void> {
  const chunks = [...(documents.get(`price_list_requests/${document_id}/payload`)?.values() ?? [])];
  if (chunks.length < payload_chunks) {
    assert.notEqual(status, 'completed', 'a completed attempt has its whole payload stored');
    return;
  }
  const text = await decompressChunks(chunks.map((chunk) => chunk['data'] as Buffer));
  assert.equal(
    text.toString(),
    [...canonicalJsonChunks(submission)].join(''),
    'a payload is recoverable byte for byte',
  );
}

function checkEntries(
  documents: Documents,
  { collection, price }: (typeof LISTS)[number],
  id: string,
  { products }: PriceListSubmission,
  ready: boolean,
): void {
  const entries = documents.get(`${collection}/${id}/products`) ?? new Map<string, DocumentData>();
  const wanted = new Map<string, unknown>(
    toProductEntries(products).map(([product, prices]) => [product, { [price]: prices[price] }]),
  );
  for (const [product, entry] of entries)
    assert.deepEqual(toPlain(entry), wanted.get(product), 'an entry has its price');
  if (ready) assert.equal(entries.size, wanted.size, 'a ready list has every entry');
}

/** The response to the client matches what is stored. */
function checkShown({ response }: KeyRecord, collection: string, id: string, parent: DocumentData | undefined): void {
  const shown = JSON.parse(response ?? '{}') as Record<string, unknown>;
  const list = collection === 'price_lists' ? 'price_list' : 'expected_forward_cost';
  assert.deepEqual(shown[list], toPlain({ id, ...parent }), `the response has ${list} as it is stored`);
}

/** A copy with the prototypes of this realm: the SDK may be loaded outside of it. */
const toPlain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
