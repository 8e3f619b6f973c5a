import { gunzipSync } from 'node:zlib';
import { FieldValue, type DocumentData, type DocumentReference, type Firestore } from 'firebase-admin/firestore';
import { getSweepDueAt } from '../../functions/src/price-lists/schedule';
import { isEntries } from './commits';
import { readAllDocuments } from './firestore';
import { requireKeyRecord } from './key-records';
import type { TestService } from './service';

/** Returns every record except markets, by path. */
export async function readAllRecords(db: Firestore): Promise<Record<string, DocumentData>> {
  const written = (await readAllDocuments(db)).filter(({ ref }) => ref.path.split('/', 1)[0] !== 'markets');
  return Object.fromEntries(written.map((each) => [each.ref.path, each.data()]));
}

export async function readStoredPayload(db: Firestore, document_id: string): Promise<string> {
  const { docs } = await db.collection(`price_list_requests/${document_id}/price_list_payload`).get();
  return gunzipSync(Buffer.concat(docs.map((chunk) => chunk.get('data') as Buffer))).toString();
}

/** The `Retry-After` for a key that a sweep can resume. */
export const AFTER_NEXT_SWEEP = '65';

/** Updates a key record and sets the matching `sweep_due_at`. */
export async function updateKey(key: DocumentReference, update: Record<string, unknown>): Promise<void> {
  if (Object.keys(update).length === 0) return;
  await key.update(update);
  const { sweep_due_at, ...stored } = (await key.get()).data() ?? {};
  const record = requireKeyRecord(stored);
  await key.update({ sweep_due_at: getSweepDueAt(record) ?? FieldValue.delete() });
}

const quiet = () => undefined;

/** A request whose log lines are dropped. */
export const TEST_REQUEST = {
  requestId: 'request-1',
  apiKeyId: 'api-key-1',
  log: { claimed: quiet, completed: quiet, failed: quiet, superseded: quiet },
};

/** Stores the market of the test price lists. Its codes are in lowercase, and the service uppercases them. */
export async function writeMarket(db: Firestore): Promise<void> {
  await db.doc('markets/market-1').set({ name: { en: 'Egypt' }, country_iso: 'egy', currency_iso: 'egp' });
}

/**
 * Submits a price list that fails with a permanent error at its second commit of entries, so its
 * key needs an operator.
 */
export async function submitAndFail({ firestore, call }: TestService, json: unknown): Promise<void> {
  const fault = firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    nth: 2,
    times: Infinity,
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  expect((await call('addPriceLists', { json })).status).toBe(500);
  fault.remove();
}
