import { isDeepStrictEqual } from 'node:util';
import { collections, subcollections } from '../src/lib/firestore/collections';
import { keyDocumentId, LIST_COLLECTIONS, LIST_KINDS, type ListKind } from '../src/lib/repositories/price-lists';
import type { Fields } from '../records/stored-records';
import type { PriceListInfo } from '../src/lib/schemas/add-price-lists';
import { getMarketFacts, type Attempt, type ClaimedLists, type KeyRecord } from '../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../src/lib/time-limits';
import type { EntryDifferences } from './entry-differences';
import { MAX_CLAIM_CHUNKS } from '../src/price-lists/payload';
import { canResumeAutomatically, getSweepDueAt, MAX_AUTOMATIC_RESUMES } from '../src/price-lists/sweep-schedule';
import { createListDocuments, createSuccessResponse } from '../src/price-lists/stored-documents';
import type { StoredPayload } from '../src/price-lists/payload';

/**
 * The invariants of stored records, which hold at any moment and after any fault: see docs/reliability.md. Two rules,
 * `lease` and `sweep_due_at`, also require that sweeps run. The audit (audit.ts) makes all of these checks, and the
 * fault tests make most of them.
 */

/** The rules, by the names that the audit prints. */
export type Rule =
  | 'key_readable' // a key record can be read, and its values can be used
  | 'key_id' // a key record is stored under the hash of its key
  | 'key_record' // the fields of a key record fit its status, and each attempt is recorded once
  | 'sweep_due_at' // a key record has the due time that follows from its fields, and the sweep processes it soon after
  | 'lease' // an attempt in progress has a lease of normal length, or one that expired a short time ago
  | 'response' // a completed key has a response, which shows what is stored, and a key that never completed has none
  | 'request' // an attempt has a request record with the same facts
  | 'payload' // the stored payload has the fingerprint of the attempt, and its key, market and number of products
  | 'list_document' // a list document exists, with the facts of its attempt and no other field
  | 'list_status' // the status of a list fits that of its attempt: ready exactly if the attempt completed
  | 'entry_count' // a ready list has one entry for each product, and no list has more
  | 'entry_values' // an entry is one of the payload, with its price and no other field
  | 'reference'; // request records, lists, entries and chunks belong to an attempt of a key

export interface Violation {
  rule: Rule;
  /** The key; null if the record does not name it. */
  boq_list_id: string | null;
  /** Path of the document, or of its subcollection. */
  path: string;
  /** Contains no text, price or product id of the payload. */
  message: string;
  /** Ids of some products with this violation. */
  products?: readonly string[];
}

/** An attempt in a key record: the current attempt, or a released one from the history. */
export interface AttemptOfKey {
  record: KeyRecord;
  attempt: Attempt;
  status: KeyRecord['status'];
}

export const getAttemptsOfKey = (record: KeyRecord): AttemptOfKey[] => [
  { record, attempt: record, status: record.status },
  ...record.history.map((attempt) => ({ record, attempt, status: 'released' as const })),
];

/** The records of an attempt, besides the key record. */
export interface AttemptDocuments {
  /** The fields of the request record; undefined if it does not exist. */
  request: Fields | undefined;
  payload: StoredPayload;
  /** Null if no market matched. */
  lists: Readonly<Record<ListKind, StoredList>> | null;
}

export interface StoredList {
  document: Fields | undefined;
  entryCount: number;
  /** Null if no entry was compared with the payload. */
  entries: EntryDifferences | null;
}

/** Checks a key record without the records of its attempts. @param id the id of its document */
export function checkKeyRecord(record: KeyRecord, id: string): Violation[] {
  const { boq_list_id, status, response } = record;
  const report = createReporter(boq_list_id, `${collections.priceListIdempotency}/${id}`);
  const violations: Violation[] = [];
  if (id !== keyDocumentId(boq_list_id)) violations.push(report('key_id', 'is stored under the hash of another key'));
  if (status === 'completed' && response === null)
    violations.push(report('response', 'is completed without a response'));
  // A completion without lists keeps its response when it is released.
  const mayHaveResponse = status === 'completed' || (status === 'released' && record.lists === null);
  if (!mayHaveResponse && response !== null) violations.push(report('response', `is ${status} with a response`));
  violations.push(...findContradictions(record).map((message) => report('key_record', message)));
  return violations;
}

function findContradictions(record: KeyRecord): string[] {
  const { status, owner, failure, failure_cause, automatic_resumes, history, actions, document_id } = record;
  const attempts = [document_id, ...history.map((attempt) => attempt.document_id)];
  const found = [
    (automatic_resumes < 0 || automatic_resumes > MAX_AUTOMATIC_RESUMES) &&
      `has ${automatic_resumes} automatic resumes`,
    status === 'processing' && owner === '' && 'is processing without an owner',
    status === 'requires_review' && failure === null && 'requires review without a failure',
    status === 'requires_review' && failure_cause === null && 'requires review without a cause',
    status === 'released' && actions.at(-1)?.action !== 'release' && 'is released without that action',
    new Set(attempts).size < attempts.length && 'records an attempt twice',
  ];
  return found.filter((message) => message !== false);
}

/**
 * Checks that the sweep finds a key when it is due. A key that needs an operator has a due time only until
 * the sweep has reported the key.
 *
 * @param sweepDueAt the field as it is stored
 */
export function checkSweepDueAt(record: KeyRecord, sweepDueAt: unknown): Violation[] {
  const needsOperator = record.status === 'requires_review' && !canResumeAutomatically(record);
  if (needsOperator && sweepDueAt === undefined) return [];
  const dueAt = getSweepDueAt(record);
  if ((sweepDueAt ?? null) === dueAt) return [];
  const stored = typeof sweepDueAt === 'number' ? sweepDueAt : 'none';
  const message = `has sweep_due_at ${stored}, but it must be ${dueAt ?? 'none'}`;
  return [createKeyReporter(record)('sweep_due_at', message)];
}

/** How long a key in review can be due without a violation. */
const OVERDUE_MS = 60 * 60_000;

/** Checks that a key in review was resumed, or reported to an operator, soon after it was due. */
export function checkOverdue(
  { boq_list_id, status }: KeyRecord,
  sweepDueAt: unknown,
  readAt: number,
  id: string,
): Violation[] {
  if (status !== 'requires_review' || typeof sweepDueAt !== 'number' || readAt < sweepDueAt + OVERDUE_MS) return [];
  const minutes = Math.floor((readAt - sweepDueAt) / 60_000);
  const report = createReporter(boq_list_id, `${collections.priceListIdempotency}/${id}`);
  return [report('sweep_due_at', `has been due for ${minutes} min, and no sweep has resumed or reported it`)];
}

/** How long ago a lease can have expired without a violation. Several sweeps run in this time. */
const EXPIRED_LEASE_GRACE_MS = 5 * 60_000;

/**
 * Checks that the lease of an attempt did not expire long ago, and that no stored time is so far in the
 * future that it delays the sweep.
 *
 * @param readAt when the record was read, by Firestore's clock, from which all times of the record come
 */
export function checkTimes(record: KeyRecord, readAt: number): Violation[] {
  const { status, lease_expires_at, updated_at } = record;
  const report = createKeyReporter(record);
  if (status === 'requires_review' && updated_at > readAt) {
    const message = `was changed at ${toTimeText(updated_at)}, in the future, so no sweep resumes it before then: use resume or release`;
    return [report('sweep_due_at', message)];
  }
  if (status !== 'processing') return [];
  if (lease_expires_at > readAt + LEASE_DURATION_MS) {
    return [report('lease', `has a lease until ${toTimeText(lease_expires_at)}, longer than any instance grants`)];
  }
  if (readAt < lease_expires_at + EXPIRED_LEASE_GRACE_MS) return [];
  const minutes = Math.floor((readAt - lease_expires_at) / 60_000);
  return [report('lease', `is processing, but its lease expired ${minutes} min ago, and no sweep has resumed it`)];
}

const toTimeText = (ms: number): string => new Date(ms).toISOString();

/** Checks the request record, the payload, the response and the lists of an attempt. */
export function checkAttempt(recorded: AttemptOfKey, stored: AttemptDocuments): Violation[] {
  const info = stored.payload.kind === 'valid' ? stored.payload.submission.info : undefined;
  const { lists } = stored;
  return [
    ...checkRequest(recorded, stored.request, info),
    ...checkPayload(recorded, stored),
    ...(info === undefined ? [] : checkResponse(recorded, info)),
    ...(lists === null ? [] : LIST_KINDS.flatMap((kind) => checkList(recorded, kind, lists[kind], info))),
  ];
}

function checkRequest(
  { record, attempt }: AttemptOfKey,
  request: Fields | undefined,
  info: PriceListInfo | undefined,
): Violation[] {
  const report = createReporter(record.boq_list_id, `${collections.priceListRequests}/${attempt.document_id}`);
  if (request === undefined) return [report('request', 'does not exist')];
  const expected: Fields = {
    schema_version: 1,
    payload_encoding: 'gzip',
    trace_id: attempt.trace_id,
    products_count: attempt.products_count,
    fingerprint: attempt.fingerprint,
    market_id: attempt.market_id,
    expected_forward_cost_id: attempt.lists?.expected_forward_cost_id ?? null,
    price_list_id: attempt.lists?.price_list_id ?? null,
    created_at: attempt.claimed_at,
    payload_chunks: attempt.payload_chunks,
    key_id: attempt.key_id,
    ...getMarketFacts(attempt),
    ...(info && {
      info,
      currency_differs: attempt.lists !== null && attempt.lists.currency !== info.currency_iso,
    }),
  };
  const names = Object.keys(expected).filter((name) => !isDeepStrictEqual(request[name], expected[name]));
  return names.length === 0 ? [] : [report('request', `differs from its attempt: ${names.join(', ')}`)];
}

function checkPayload({ record, attempt, status }: AttemptOfKey, { request, payload }: AttemptDocuments): Violation[] {
  const { document_id, products_count, payload_chunks, market_id } = attempt;
  const report = createReporter(
    record.boq_list_id,
    `${collections.priceListRequests}/${document_id}/${subcollections.payload}`,
  );
  if (payload.kind === 'invalid') {
    // The claim stores the first chunks. The others can be missing until the first entry is written.
    const { chunks } = payload;
    const mayBeIncomplete = status !== 'completed' && chunks >= MAX_CLAIM_CHUNKS;
    // A time-to-live policy can delete the payloads of settled attempts (docs/data-model.md#retention).
    const isSettled = status === 'completed' || status === 'released';
    const mayBeDeleted = isSettled && typeof request?.['payload_expires_at'] === 'number';
    return chunks < payload_chunks && (mayBeIncomplete || mayBeDeleted)
      ? []
      : [report('payload', `cannot be used: ${payload.reason}`)];
  }
  const { info, products } = payload.submission;
  const violations: Violation[] = [];
  if (info.boq_list_id !== record.boq_list_id) violations.push(report('payload', 'belongs to another key'));
  if (info.market_id !== market_id) violations.push(report('payload', 'is for another market'));
  if (products.ids.length !== products_count)
    violations.push(report('payload', `has ${products.ids.length} products, but its attempt has ${products_count}`));
  return violations;
}

/** Compares the stored response with the records, byte for byte. */
function checkResponse({ record, attempt, status }: AttemptOfKey, info: PriceListInfo): Violation[] {
  const { response, updated_at } = record;
  if (status !== 'completed' || response === null) return [];
  const expected = createSuccessResponse(attempt, info, updated_at);
  if (response === expected) return [];
  const report = createKeyReporter(record);
  const shown = parseObject(response);
  if (shown === undefined) return [report('response', 'has a response that is not JSON')];
  const given = JSON.parse(expected) as Fields;
  const differing = Object.keys({ ...given, ...shown }).filter((name) => !isDeepStrictEqual(shown[name], given[name]));
  const what = differing.length === 0 ? 'its bytes' : differing.join(', ');
  return [report('response', `has a response that differs from its records: ${what}`)];
}

/** The maximum number of product ids that a violation names. */
const MAX_EXAMPLES = 3;

function checkList(
  recorded: AttemptOfKey,
  kind: ListKind,
  { document, entryCount, entries }: StoredList,
  info: PriceListInfo | undefined,
): Violation[] {
  const { record, attempt, status } = recorded;
  const { products_count, lists } = attempt;
  if (lists === null) return [];
  const path = getListPath(kind, lists);
  const violations = checkListStatus(recorded, kind, document);
  if (document !== undefined && info !== undefined)
    violations.push(...checkListDocument(recorded, kind, document, info));

  const report = createReporter(record.boq_list_id, `${path}/products`);
  const isWrongCount = status === 'completed' ? entryCount !== products_count : entryCount > products_count;
  if (isWrongCount) violations.push(report('entry_count', `has ${entryCount} entries for ${products_count} products`));
  if (entries === null) return violations;
  const { missing, different, extra } = entries;
  const add = (ids: readonly string[], what: string) => {
    if (ids.length === 0) return;
    const products = ids.slice(0, MAX_EXAMPLES);
    violations.push({ ...report('entry_values', `has ${ids.length} ${what}`), products });
  };
  if (status === 'completed') add(missing, 'products without an entry');
  add(different, 'entries that differ from the payload');
  add(extra, 'entries that are not in the payload');
  return violations;
}

export function checkListStatus(
  { record, attempt, status }: AttemptOfKey,
  kind: ListKind,
  document: Fields | undefined,
): Violation[] {
  if (attempt.lists === null) return [];
  const report = createReporter(record.boq_list_id, getListPath(kind, attempt.lists));
  if (document === undefined) return [report('list_document', 'does not exist')];
  const allowed = getAllowedStatuses(status, record);
  const found = document['status'];
  if (allowed.some((each) => each === found)) return [];
  const shown = typeof found === 'string' && /^\w{1,20}$/.test(found) ? found : 'no valid status';
  return [report('list_status', `is ${shown}, but its attempt is ${status}`)];
}

/** The lists of a resumed attempt stay failed until it completes. */
function getAllowedStatuses(status: KeyRecord['status'], { actions }: KeyRecord): string[] {
  switch (status) {
    case 'processing':
      return [actions.at(-1)?.action === 'resume' ? 'failed' : 'processing'];
    case 'completed':
      return ['ready'];
    case 'requires_review':
    case 'released':
      return ['failed'];
  }
}

function checkListDocument(
  { record, attempt, status }: AttemptOfKey,
  kind: ListKind,
  document: Fields,
  info: PriceListInfo,
): Violation[] {
  const { lists } = attempt;
  if (lists === null) return [];
  const expected: Fields = createListDocuments(attempt, lists, info, 'ready', record.updated_at)[kind];
  // Before completion, `updated_at` does not follow from the key record. The rule `list_status` checks the status.
  const ignored = status === 'completed' ? ['status'] : ['status', 'updated_at'];
  const names = Object.keys(expected).filter((name) => !isDeepStrictEqual(document[name], expected[name]));
  const differing = names.filter((name) => !ignored.includes(name));
  const others = Object.keys(document).filter((name) => !(name in expected)).length;
  if (others > 0) differing.push(`${others} other fields`);
  if (differing.length === 0) return [];
  const report = createReporter(record.boq_list_id, getListPath(kind, lists));
  return [report('list_document', `differs from its attempt: ${differing.join(', ')}`)];
}

export const getListPath = (kind: ListKind, lists: ClaimedLists): string =>
  `${LIST_COLLECTIONS[kind]}/${lists[`${kind}_id`]}`;

const createReporter =
  (boq_list_id: string | null, path: string) =>
  (rule: Violation['rule'], message: string): Violation => ({ rule, boq_list_id, path, message });

const createKeyReporter = ({ boq_list_id }: KeyRecord) =>
  createReporter(boq_list_id, `${collections.priceListIdempotency}/${keyDocumentId(boq_list_id)}`);

function parseObject(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}
