import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import type { DocumentData, Firestore } from 'firebase-admin/firestore';
import { audit } from '../../command/audit/audit';
import type { Violation } from '../../command/audit/violation';
import { Database } from '../../functions/src/lib/firestore/database';
import type { PriceListSubmission } from '../../functions/src/lib/schemas/add-price-lists';
import type { KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { createWorkContext } from '../../functions/src/lib/work-context';
import { computeFingerprint } from '../../functions/src/price-lists/payload';
import { readAllDocuments } from './firestore';
import { requireKeyRecord } from './key-records';

/**
 * Checks what must hold in the database at any moment and after any fault (docs/reliability.md). Runs the audit, which has
 * its own expectations (command/audit/expected.ts), and compares the records with the submissions.
 */

/** Maps the path of each collection to its documents by id. */
type Documents = Map<string, Map<string, DocumentData>>;

const getDocuments = (documents: Documents, collection: string) =>
  documents.get(collection) ?? new Map<string, DocumentData>();

/** @param submitted all submissions that were sent @throws Error that says what does not hold */
export async function checkInvariants(db: Firestore, submitted: readonly PriceListSubmission[]): Promise<void> {
  assert.deepEqual(await findViolations(db), [], 'apart from leases and due times, the audit finds no violation');
  const submissions = new Map(submitted.map((submission) => [computeFingerprint(submission), submission]));
  const documents: Documents = new Map();
  for (const document of await readAllDocuments(db)) {
    const { path } = document.ref.parent;
    documents.set(path, getDocuments(documents, path).set(document.id, document.data()));
  }
  for (const { sweep_due_at: dueAt, ...stored } of getDocuments(documents, 'price_list_idempotency').values())
    checkDueAt(requireKeyRecord(stored), dueAt as number | undefined);
  for (const [id, request] of getDocuments(documents, 'price_list_requests')) {
    const submission = submissions.get(String(request['fingerprint']));
    assert(submission !== undefined, 'each request record has the fingerprint of a submission');
    checkRequest(documents, id, request, submission);
  }
}

/** Returns the violations that the audit finds, without those of `lease` and `sweep_due_at`, because these rules hold only if sweeps run. */
async function findViolations(db: Firestore): Promise<string[]> {
  const violations: Violation[] = [];
  const context = createWorkContext(new AbortController().signal);
  await audit(new Database(db, context), context, Infinity, (found) => violations.push(found));
  const found = violations.filter(({ rule }) => rule !== 'lease' && rule !== 'sweep_due_at');
  return found.map(({ path, message }) => `${path} ${message}`);
}

/** Asserts that `sweep_due_at` has the right value for the state of the key. The wait after a transient failure depends on the number of failed tries. */
function checkDueAt({ status, failure_cause, failed_tries, updated_at, lease_expires_at }: KeyRecord, dueAt?: number) {
  const minutes = [0, 0, 1, 5][failed_tries];
  if (status === 'processing') assert.equal(dueAt, lease_expires_at, 'a key in progress is due when its lease ends');
  else if (status !== 'requires_review') assert.equal(dueAt, undefined, `a ${status} key is never due`);
  else if (failure_cause !== 'error' && minutes !== undefined)
    assert.equal(dueAt, updated_at + minutes * 60_000, 'after a transient failure, a key is due when its wait ends');
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
  assert.deepEqual(payload, { info, products: Object.fromEntries(products.prices) }, 'the payload is the accepted one');
  const { market_id } = info;
  const expected = {
    schema_version: 1,
    info,
    market_id,
    products_count: products.ids.length,
    payload_chunks: chunks.size,
  };
  assert.deepEqual({ ...request, ...expected }, request, 'a request record shows its request');
}
