import type { DocumentSnapshot } from 'firebase-admin/firestore';
import { collections } from '../../functions/src/lib/firestore/collections';
import type { Database } from '../../functions/src/lib/firestore/database';
import { retry } from '../../functions/src/lib/firestore/retry';
import { keyDocument, toKeySnapshot, type KeySnapshot } from '../../functions/src/lib/repositories/keys';
import { toText } from '../../functions/src/lib/repositories/stored-values';
import { getOutcome, type Outcome } from '../../functions/src/lib/market-facts';
import type { FailureCause, KeyStatus } from '../../functions/src/lib/schemas/key-record';
import type { WorkContext } from '../../functions/src/lib/work-context';
import { getAll } from './find';
import { billPage, readPages } from './pages';

/** Reads accepted requests with their outcome, for the report of the operator's command and the data pages. */

/** An accepted request. A field is null if the records have no valid value for it. Times are Unix milliseconds. */
export type RequestRow = ReturnType<typeof toRow>;

export interface AcceptedRequest {
  request: DocumentSnapshot;
  row: RequestRow;
  /**
   * The record of its key; undefined if the record does not exist or describes another attempt. An unreadable record counts as that
   * of the request's attempt, unless the attempt was released.
   */
  key: KeySnapshot | undefined;
}

/**
 * Yields requests in pages, newest first, with the number of document reads that Firestore bills for each page.
 *
 * @param from inclusive, in Unix milliseconds; undefined for no limit
 * @param to exclusive
 */
export async function* readRequests(db: Database, context: WorkContext, from?: number, to?: number) {
  let query = db.firestore.collection(collections.priceListRequests).orderBy('created_at', 'desc');
  if (from !== undefined) query = query.where('created_at', '>=', from);
  if (to !== undefined) query = query.where('created_at', '<', to);
  for await (const page of readPages(db, context, query)) {
    const { requests, documentReads } = await addOutcomes(db, context, page);
    yield { requests, documentReads: billPage(page) + documentReads };
  }
}

/** Reads the key records of requests in one call, and each record once. */
export async function addOutcomes(db: Database, context: WorkContext, requests: readonly DocumentSnapshot[]) {
  const boqListIds = requests.map((request) => toText(request.get('info.boq_list_id')));
  const references = [...new Set(boqListIds)].filter((id) => id !== null).map((id) => keyDocument(db, id));
  const documents = await retry(() => getAll(db, references), context, 'outage');
  const keys = new Map(documents.map((document) => [document.id, toKeySnapshot(document)]));
  const toRequest = (request: DocumentSnapshot, i: number): AcceptedRequest => {
    const id = boqListIds[i] ?? null;
    return toAcceptedRequest(request, id === null ? undefined : keys.get(keyDocument(db, id).id));
  };
  return { requests: requests.map(toRequest), documentReads: references.length };
}

function toAcceptedRequest(request: DocumentSnapshot, key: KeySnapshot | undefined): AcceptedRequest {
  const record = key?.record;
  if (record !== 'unreadable' && record?.document_id === request.id) {
    const { status, failure_cause } = record;
    return { request, row: toRow(request, status, status === 'requires_review' ? failure_cause : null), key };
  }
  if (request.get('released') !== undefined) return { request, row: toRow(request, 'released'), key: undefined };
  if (record === 'unreadable') return { request, row: toRow(request, 'unreadable'), key };
  return { request, row: toRow(request, null), key: undefined };
}

/** @param status of the request's attempt; null if no record shows it, which the audit reports */
function toRow(
  request: DocumentSnapshot,
  status: KeyStatus | 'unreadable' | null,
  failure_cause: FailureCause | null = null,
) {
  const getText = (field: string) => toText(request.get(field));
  return {
    created_at: toNumber(request.get('created_at')),
    boq_list_id: getText('info.boq_list_id'),
    name: getText('info.name'),
    /** MM/YYYY. */
    month: getText('info.date'),
    market_id: getText('market_id'),
    /** The name of the API key. */
    sender: getText('key_id'),
    currency_sent: getText('info.currency_iso'),
    /** The currency of the lists; null if no market matched. */
    currency_stored: getText('currency'),
    products: toNumber(request.get('products_count')),
    status,
    outcome: status === 'completed' ? readOutcome(request) : null,
    failure_cause,
    expected_forward_cost_id: getText('expected_forward_cost_id'),
    price_list_id: getText('price_list_id'),
    document_id: request.id,
  };
}

/** Treats a missing fact as the usual one (market found, same currency), so malformed records need no outcome of their own. */
const readOutcome = (request: DocumentSnapshot): Outcome =>
  getOutcome({
    market_found: request.get('market_found') !== false,
    currency_differs: request.get('currency_differs') === true,
  });

const toNumber = (value: unknown): number | null => (typeof value === 'number' ? value : null);
