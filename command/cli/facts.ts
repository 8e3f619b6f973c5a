import type { DocumentSnapshot } from 'firebase-admin/firestore';
import type { StoredPayload } from '../audit/attempt';
import { countEntries } from '../records/entries';
import type { ReadableKey } from '../records/find';
import { retry } from '../../functions/src/lib/firestore/retry';
import { listDocument, type ListKind } from '../../functions/src/lib/repositories/lists';
import { toText } from '../../functions/src/lib/repositories/stored-values';
import { requestDocument } from '../../functions/src/lib/repositories/request-records';
import type { PriceListSubmission } from '../../functions/src/lib/schemas/add-price-lists';
import { getMarketFacts } from '../../functions/src/lib/market-facts';
import { settleLease } from '../../functions/src/price-lists/key';
import { streamCanonicalJson, UnusablePayloadError } from '../../functions/src/price-lists/payload';
import { canResumeAutomatically, getSweepResumeAt } from '../../functions/src/price-lists/schedule';
import type { Database } from '../../functions/src/lib/firestore/database';
import type { WorkContext } from '../../functions/src/lib/work-context';

/** Collects the facts about a key that `--json` prints. format.ts turns them into text. */

/**
 * What an operator does next about a key: wait while its attempt is in progress (`wait`) or until the sweep resumes it
 * (`sweep`), resume or release it, or have the client send the request again (`send`); null for ready lists.
 *
 * A completed key without lists needs a release only if the client wants to send a different `market_id`, or its market has
 * been created since.
 */
export type NextStep = 'wait' | 'sweep' | 'resume' | 'release' | 'send' | null;

/** @param isPayloadUsable false if the stored payload was read, and cannot be used */
export function getNextStep({ record, readAt, sweepDueAt }: ReadableKey, isPayloadUsable = true): NextStep {
  const settled = settleLease(record, readAt);
  switch (settled.status) {
    case 'processing':
      return 'wait';
    case 'requires_review':
      if (!isPayloadUsable) return 'release';
      // The sweep no longer finds a key that it has reported, for example because the record was unreadable at that time.
      return canResumeAutomatically(settled) && sweepDueAt !== null ? 'sweep' : 'resume';
    case 'completed':
      return settled.lists === null ? 'release' : null;
    case 'released':
      return 'send';
  }
}

/** The facts that `list` shows about a key. Times are Unix milliseconds. */
export type KeySummary = ReturnType<typeof summarizeKey>;

export type KeyDetails = Awaited<ReturnType<typeof readKeyDetails>>;

export function summarizeKey(key: ReadableKey) {
  const { boq_list_id, status, market_id, products_count, lists, updated_at: since } = key.record;
  const { claimed_at, lease_expires_at } = key.record;
  const { failure, failure_cause } = settleLease(key.record, key.readAt);
  const facts = { ...getMarketFacts(key.record), currency: lists?.currency ?? null };
  const attempt = { boq_list_id, status, next: getNextStep(key), market_id, ...facts, products_count };
  const sweep_due_at = getSweepResumeAt(key.record) === null ? null : key.sweepDueAt;
  return { ...attempt, claimed_at, since, lease_expires_at, sweep_due_at, failure, failure_cause };
}

export interface ListProgress {
  /** The status of the list document; null if the document does not exist or its status is no text. */
  status: string | null;
  entries: number;
}

/** @param requests the request records by which the operator found the key */
export async function readKeyDetails(
  key: ReadableKey,
  payload: StoredPayload,
  requests: readonly DocumentSnapshot[],
  { db, workContext }: { db: Database; workContext: WorkContext },
) {
  const { document_id, trace_id, key_id, lists, fingerprint, response, failed_tries, actions } = settleLease(
    key.record,
    key.readAt,
  );
  const read = <T>(fn: () => Promise<T>) => retry(fn, workContext, 'outage');
  const [request] = await read(() => db.getAll(requestDocument(db, document_id)));
  const readProgress = async (kind: ListKind): Promise<ListProgress | null> => {
    if (lists === null) return null;
    const [list] = await read(() => db.getAll(listDocument(db, kind, lists)));
    return { status: toText(list.get('status')), entries: await read(() => countEntries(db, kind, lists)) };
  };
  const earlier = requests.filter(({ id }) => id !== document_id);
  return {
    ...summarizeKey(key),
    next: getNextStep(key, !(payload instanceof UnusablePayloadError)),
    expected_forward_cost: await readProgress('expected_forward_cost'),
    price_list: await readProgress('price_list'),
    document_id,
    request_id: toText(request.get('request_id')),
    trace_id,
    key_id,
    expected_forward_cost_id: lists?.expected_forward_cost_id ?? null,
    price_list_id: lists?.price_list_id ?? null,
    fingerprint,
    payload: summarizePayload(payload),
    response,
    failed_tries,
    actions,
    earlier: earlier.map((each) => ({ document_id: each.id, released: (each.get('released') as unknown) ?? null })),
  };
}

/** Returns the canonical JSON of a submission, which is the accepted payload. */
export const toPayloadText = (submission: PriceListSubmission): string => [...streamCanonicalJson(submission)].join('');

function summarizePayload(payload: StoredPayload) {
  if (payload instanceof UnusablePayloadError) return { usable: false as const, reason: payload.message };
  const { name, date, currency_iso } = payload.info;
  return { usable: true as const, bytes: Buffer.byteLength(toPayloadText(payload)), name, date, currency_iso };
}

/** Returns whether an unresolved key needs an operator, because the sweep does not resume it. */
export const needsOperator = ({ next }: KeySummary): boolean => next === 'resume';
