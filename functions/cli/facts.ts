import { countEntries, hasUsableIds, readAttemptDocuments } from '../records/stored-records';
import type { Database } from '../src/lib/firestore/database';
import { toText } from '../src/lib/repositories/organisation';
import type { ListKind } from '../src/lib/repositories/price-lists';
import { getMarketFacts, type KeyRecord } from '../src/lib/schemas/key-record';
import { getSweepResumeAt } from '../src/price-lists/sweep-schedule';
import { streamCanonicalJson, type StoredPayload } from '../src/price-lists/payload';
import type { PriceListSubmission } from '../src/price-lists/submission-parser';

/** Collects the facts about a key that `--json` prints. format.ts turns them into text. */

/** The facts that `list` shows about a key. Times are Unix milliseconds. */
export type KeySummary = ReturnType<typeof summarizeKey>;

/** The facts that `show` shows about a key. */
export type KeyDetails = Awaited<ReturnType<typeof readKeyDetails>>;

export function summarizeKey(record: KeyRecord) {
  const { boq_list_id, status, market_id, products_count, lists, updated_at: since } = record;
  const { claimed_at, lease_expires_at, failure, failure_cause } = record;
  const facts = { ...getMarketFacts(record), currency: lists?.currency ?? null };
  const attempt = { boq_list_id, status, market_id, ...facts, products_count };
  const sweep_due_at = getSweepResumeAt(record);
  return { ...attempt, claimed_at, since, lease_expires_at, sweep_due_at, failure, failure_cause };
}

export interface ListProgress {
  /** The status of the list document; null if it has none or does not exist. */
  status: string | null;
  entries: number;
}

export async function readKeyDetails(record: KeyRecord, payload: StoredPayload, db: Database) {
  const { document_id, trace_id, key_id, lists, fingerprint, response, automatic_resumes, history, actions } = record;
  const stored = await readAttemptDocuments(db, record);
  const readProgress = async (kind: ListKind): Promise<ListProgress | null> => {
    if (lists === null) return null;
    if (!hasUsableIds(lists)) return { status: null, entries: 0 };
    return { status: toText(stored.lists[kind]?.['status']), entries: await countEntries(db, kind, lists) };
  };
  const [expected_forward_cost, price_list] = await Promise.all([
    readProgress('expected_forward_cost'),
    readProgress('price_list'),
  ]);
  return {
    ...summarizeKey(record),
    expected_forward_cost,
    price_list,
    document_id,
    request_id: toText(stored.request?.['request_id']),
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

/** Returns whether an unresolved key needs an operator, because the sweep does not resume it. */
export const needsOperator = ({ sweep_due_at }: KeySummary): boolean => sweep_due_at === null;
