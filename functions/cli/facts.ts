import {
  countEntries,
  hasUsableIds,
  readAttemptDocuments,
  readListStatuses,
  type ListProgress,
} from '../records/stored-records';
import type { Database } from '../src/lib/firestore/database';
import { toText } from '../src/lib/repositories/field-values';
import type { ListKind } from '../src/lib/repositories/price-lists';
import { getMarketFacts, type KeyRecord } from '../src/lib/schemas/key-record';
import { getSweepResumeAt } from '../src/price-lists/sweep-schedule';
import { streamCanonicalJson, type StoredPayload } from '../src/price-lists/payload';
import type { PriceListSubmission } from '../src/price-lists/submission-parser';

/** Collects the facts about a key that `--json` prints. format.ts turns them into text. */

/** The facts that `list` shows about a key. Times are Unix milliseconds. */
export type KeySummary = Awaited<ReturnType<typeof readKeySummary>>;

/** The facts that `show` shows about a key. */
export type KeyDetails = Awaited<ReturnType<typeof readKeyDetails>>;

/** @param statuses the statuses of lists by id, which may include lists of other keys */
export async function readKeySummary(record: KeyRecord, statuses: ReadonlyMap<string, string | null>, db: Database) {
  const { boq_list_id, status, market_id, products_count, lists, updated_at: since } = record;
  const { claimed_at, lease_expires_at, failure, failure_cause } = record;
  const readProgress = async (kind: ListKind): Promise<ListProgress | null> => {
    if (lists === null) return null;
    if (!hasUsableIds(lists)) return { status: null, entries: 0 };
    return { status: statuses.get(lists[`${kind}_id`]) ?? null, entries: await countEntries(db, kind, lists) };
  };
  const [expected_forward_cost, price_list] = await Promise.all([
    readProgress('expected_forward_cost'),
    readProgress('price_list'),
  ]);
  const facts = { ...getMarketFacts(record), currency: lists?.currency ?? null };
  const attempt = { boq_list_id, status, market_id, ...facts, products_count, expected_forward_cost, price_list };
  const sweep_due_at = getSweepResumeAt(record);
  return { ...attempt, claimed_at, since, lease_expires_at, sweep_due_at, failure, failure_cause };
}

export async function readKeyDetails(record: KeyRecord, payload: StoredPayload, db: Database) {
  const { document_id, trace_id, key_id, lists, fingerprint, response, automatic_resumes, history, actions } = record;
  const { request } = await readAttemptDocuments(db, record);
  return {
    ...(await readKeySummary(record, await readListStatuses(db, lists === null ? [] : [lists]), db)),
    document_id,
    request_id: toText(request?.['request_id']),
    trace_id,
    key_id,
    expected_forward_cost_id: lists?.expected_forward_cost_id ?? null,
    price_list_id: lists?.price_list_id ?? null,
    fingerprint,
    payload: summarizePayload(payload),
    response,
    automatic_resumes,
    history,
    actions,
  };
}

/** Returns the canonical JSON of a submission, which is the accepted payload. */
export const toPayloadText = (submission: PriceListSubmission): string => [...streamCanonicalJson(submission)].join('');

function summarizePayload(payload: StoredPayload) {
  if (payload.kind === 'invalid') return { usable: false as const, reason: payload.reason };
  const { name, date, currency_iso } = payload.submission.info;
  return {
    usable: true as const,
    bytes: Buffer.byteLength(toPayloadText(payload.submission)),
    name,
    date,
    currency_iso,
  };
}

/** Whether an unresolved key needs an operator, because the sweep does not resume it. */
export const needsOperator = ({ sweep_due_at }: KeySummary): boolean => sweep_due_at === null;
