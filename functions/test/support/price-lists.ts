import { gunzipSync } from 'node:zlib';
import { FieldValue, type DocumentData, type DocumentReference, type Firestore } from 'firebase-admin/firestore';
import { keyRecordSchema } from '../../src/lib/schemas/key-record';
import { getSweepDueAt } from '../../src/price-lists/sweep-schedule';
import { readAllDocuments } from './firestore';
import type { TestService } from './service';

/** Response of add price lists on success, as far as tests read it. */
export interface AddPriceListsBody {
  success: boolean;
  products_count: number;
  document_id: string;
  market: { id: string; name: string | null; iso: string | null } | null;
  expected_forward_cost: { id: string; status: string } | null;
  price_list: { id: string; status: string } | null;
}

/** Every record that add price lists may have written, by its path. */
export async function readAllRecords(db: Firestore): Promise<Record<string, DocumentData>> {
  const written = (await readAllDocuments(db)).filter(({ ref }) => ref.path.split('/', 1)[0] !== 'markets');
  return Object.fromEntries(written.map((each) => [each.ref.path, each.data()]));
}

/** How many records there are of each kind, by the names of their collections. */
export async function countRecords(db: Firestore): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const path of Object.keys(await readAllRecords(db))) {
    const kind = path
      .split('/')
      .filter((_, i) => i % 2 === 0)
      .join('/');
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** The entries of a list: the stored price of each product. */
export async function readListEntries(db: Firestore, list: string): Promise<Record<string, DocumentData>> {
  const { docs } = await db.collection(`${list}/products`).get();
  return Object.fromEntries(docs.map((entry) => [entry.id, entry.data()]));
}

/** The payload that is stored with a request record, unpacked. */
export async function readStoredPayload(db: Firestore, document_id: string): Promise<string> {
  const { docs } = await db.collection(`price_list_requests/${document_id}/payload`).get();
  return gunzipSync(Buffer.concat(docs.map((chunk) => chunk.get('data') as Buffer))).toString();
}

/**
 * A `Retry-After` that leads to the next sweep after a failure, or after the lease of an attempt
 * that could not store it. A matcher of its own, since Jest's `expect` is not there for the
 * commands that import this file.
 */
export const AFTER_NEXT_SWEEP = {
  asymmetricMatch: (value: unknown) => /^([5-9]|\d\d|1[01]\d)$/.test(String(value)),
} as unknown as string;

/** Updates a key record, and gives it the `sweep_due_at` that it then has. */
export async function updateKey(key: DocumentReference, update: Record<string, unknown>): Promise<void> {
  if (Object.keys(update).length === 0) return;
  await key.update(update);
  const record = keyRecordSchema.parse((await key.get()).data());
  await key.update({ sweep_due_at: getSweepDueAt(record) ?? FieldValue.delete() });
}

const quiet = () => undefined;

/** The log of a creation whose lines are of no interest. */
export const NO_LOG = { claimed: quiet, completed: quiet, failed: quiet, superseded: quiet };

/** Stores the market that the price lists of tests are for, its codes in lowercase: the service uppercases them. */
export async function writeMarket(db: Firestore): Promise<void> {
  await db.doc('markets/market-1').set({ name: { en: 'Egypt' }, country_iso: 'egy', currency_iso: 'egp' });
}

/**
 * Submits a price list that fails with a permanent error after some commits of entries, so that its
 * key requires an operator.
 *
 * @param body of more products than these commits take
 */
export async function submitAndFail(
  { firestore, call }: TestService,
  body: unknown,
  { headers = {}, commits = 1 }: { headers?: Record<string, string>; commits?: number } = {},
): Promise<void> {
  const fault = firestore.faults.inject({
    rpc: 'Commit',
    match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
    nth: commits + 1,
    times: Number.MAX_SAFE_INTEGER,
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  expect((await call('addPriceLists', { json: body, headers })).status).toBe(500);
  fault.remove();
}
