import { isDeepStrictEqual } from 'node:util';
import { collections, subcollections } from '../../functions/src/lib/firestore/collections';
import { LIST_COLLECTIONS, LIST_KINDS, type ListIds, type ListKind } from '../../functions/src/lib/repositories/lists';
import type { PriceListInfo } from '../../functions/src/lib/schemas/add-price-lists';
import type { KeyLists, KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { UnusablePayloadError, type StoredSubmission } from '../../functions/src/price-lists/payload';
import { createExpectedList, createExpectedResponse } from './expected';
import { createKeyReporter } from './key-record';
import { createReporter, type Violation } from './violation';

/**
 * Checks the request record, payload, response and lists of a key's current attempt, and the request record and payload
 * of an earlier attempt.
 */

/** The stored fields of a document. */
type Fields = Readonly<Record<string, unknown>>;

/** A stored payload, or the error that says why it cannot be used. */
export type StoredPayload = StoredSubmission | UnusablePayloadError;

/** The records of an attempt, besides the key record. */
export interface AttemptDocuments {
  /** The fields of the request record; undefined if it does not exist. */
  request: Fields | undefined;
  payload: StoredPayload;
  /** Null if no market matched. */
  lists: Readonly<Record<ListKind, StoredList>> | null;
}

/** The ids of products whose stored entries differ from the payload. */
export interface EntryDifferences {
  missing: string[];
  /** Entries with a different price or with other fields. */
  different: string[];
  /** Entries whose product is not in the payload. */
  extra: string[];
}

export interface StoredList {
  document: Fields | undefined;
  entryCount: number;
  /** Null if the entries were only counted. */
  entries: EntryDifferences | null;
}

export function checkAttempt(attempt: KeyRecord, { request, payload, lists: stored }: AttemptDocuments): Violation[] {
  const { lists } = attempt;
  return [
    ...checkRequest(attempt, request, payload),
    ...checkPayload(attempt, payload, request),
    ...checkResponse(attempt),
    ...(lists && stored ? LIST_KINDS.flatMap((kind) => checkList(attempt, lists, kind, stored[kind])) : []),
  ];
}

function checkRequest(attempt: KeyRecord, request: Fields | undefined, payload: StoredPayload): Violation[] {
  const info = payload instanceof UnusablePayloadError ? undefined : payload.info;
  const { boq_list_id, document_id, lists, status } = attempt;
  const report = createReporter(boq_list_id, `${collections.priceListRequests}/${document_id}`);
  if (request === undefined) return [report('request', 'does not exist')];
  const { updated_at: at, failure, failure_cause, actions } = attempt;
  const expected: Fields = {
    schema_version: 1,
    payload_encoding: 'gzip',
    trace_id: attempt.trace_id,
    key_id: attempt.key_id,
    products_count: attempt.products_count,
    fingerprint: attempt.fingerprint,
    market_id: attempt.market_id,
    market_found: lists !== null,
    currency_differs:
      info === undefined ? (lists?.currency_differs ?? false) : lists !== null && lists.currency !== info.currency_iso,
    currency: lists?.currency ?? null,
    expected_forward_cost_id: lists?.expected_forward_cost_id ?? null,
    price_list_id: lists?.price_list_id ?? null,
    created_at: attempt.claimed_at,
    released: status === 'released' ? { at, failure, failure_cause, actions } : undefined,
    ...(info && { info }),
  };
  const names = [...findDifferences(expected, request), ...findInvalidFields(request, payload)];
  return names.length === 0 ? [] : [report('request', `has wrong or missing fields: ${names.join(', ')}`)];
}

/**
 * Returns which of the fields `request_id` and `payload_chunks` are invalid. The key record does not hold them. If the
 * payload is usable, `payload_chunks` must be its number of chunks.
 */
function findInvalidFields({ request_id, payload_chunks }: Fields, payload: StoredPayload): string[] {
  const isCount =
    payload instanceof UnusablePayloadError
      ? Number.isInteger(payload_chunks) && Number(payload_chunks) > 0
      : payload_chunks === payload.chunkCount;
  return [
    ...(typeof request_id === 'string' && request_id !== '' ? [] : ['request_id']),
    ...(isCount ? [] : ['payload_chunks']),
  ];
}

/** Checks the request record and the payload of an earlier attempt, which prove who sent what. No key record refers to that attempt any more. */
export function checkReleasedRequest(id: string, request: Fields, payload: StoredPayload): Violation[] {
  const info = request['info'] as PriceListInfo;
  const path = `${collections.priceListRequests}/${id}`;
  const names = findInvalidFields(request, payload);
  if (typeof request['key_id'] !== 'string') names.push('key_id');
  if (request['market_id'] !== info.market_id) names.push('market_id');
  const violations =
    names.length === 0
      ? []
      : [createReporter(info.boq_list_id, path)('request', `has wrong or missing fields: ${names.join(', ')}`)];
  const report = createReporter(info.boq_list_id, `${path}/${subcollections.payload}`);
  if (payload instanceof UnusablePayloadError) {
    // A time-to-live policy can delete the payload of a released attempt (docs/data-model.md#retention).
    if (typeof request['payload_expires_at'] !== 'number')
      violations.push(report('payload', `cannot be used: ${payload.message}`));
  } else if (!isDeepStrictEqual({ ...payload.info }, info) || payload.products.ids.length !== request['products_count'])
    violations.push(report('payload', 'differs from its request record'));
  return violations;
}

/** Returns the names of the expected members that are stored differently. */
const findDifferences = (expected: Fields, stored: Fields): string[] =>
  Object.keys(expected).filter((name) => !isDeepStrictEqual(stored[name], expected[name]));

function checkPayload(attempt: KeyRecord, payload: StoredPayload, request: Fields | undefined): Violation[] {
  const { boq_list_id, document_id, status, products_count, market_id, name, date } = attempt;
  const path = `${collections.priceListRequests}/${document_id}/${subcollections.payload}`;
  const report = createReporter(boq_list_id, path);
  if (payload instanceof UnusablePayloadError) {
    // A time-to-live policy can delete the payload of a completed or released attempt (docs/data-model.md#retention).
    const isSettled = status === 'completed' || status === 'released';
    const mayBeDeleted = isSettled && typeof request?.['payload_expires_at'] === 'number';
    return mayBeDeleted ? [] : [report('payload', `cannot be used: ${payload.message}`)];
  }
  const { info, products } = payload;
  const names = findDifferences({ boq_list_id, market_id, name, date }, { ...info });
  const violations = names.length === 0 ? [] : [report('payload', `differs from its attempt: ${names.join(', ')}`)];
  if (products.ids.length !== products_count)
    violations.push(
      report('payload', `has the wrong number of products: ${products.ids.length} instead of ${products_count}`),
    );
  return violations;
}

/** Compares the stored response of a completed attempt, byte for byte, with the one that follows from its key record. */
function checkResponse(attempt: KeyRecord): Violation[] {
  const { status, response } = attempt;
  if (status !== 'completed' || response === null) return [];
  const expected: Fields = createExpectedResponse(attempt);
  if (response === JSON.stringify(expected)) return [];
  const report = createKeyReporter(attempt);
  const shown = parseObject(response);
  if (shown === undefined) return [report('response', 'has a response that is not a JSON object')];
  const names = findDifferences({ ...shown, ...expected }, shown);
  const more = Object.keys(shown).filter((name) => !Object.hasOwn(expected, name));
  const what = [...names, ...more].join(', ') || 'order or format';
  return [report('response', `has a response that does not follow from its other fields: ${what}`)];
}

function parseObject(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** The maximum number of product ids that a violation names. */
const MAX_EXAMPLES = 3;

function checkList(
  attempt: KeyRecord,
  lists: KeyLists,
  kind: ListKind,
  { document, entryCount, entries }: StoredList,
): Violation[] {
  const { boq_list_id, products_count, status } = attempt;
  const path = getListPath(kind, lists);
  const violations = checkListDocument(attempt, lists, kind, document);
  const report = createReporter(boq_list_id, `${path}/${subcollections.products}`);
  const isWrongCount = status === 'completed' ? entryCount !== products_count : entryCount > products_count;
  if (isWrongCount)
    violations.push(
      report('entry_count', `has the wrong number of entries: ${entryCount} instead of ${products_count}`),
    );
  if (entries === null) return violations;
  const { missing, different, extra } = entries;
  const add = (ids: readonly string[], what: string) => {
    if (ids.length === 0) return;
    const products = ids.slice(0, MAX_EXAMPLES);
    violations.push({ ...report('entry_values', `has ${what}: ${ids.length}`), products });
  };
  if (status === 'completed') add(missing, 'products without an entry');
  add(different, 'entries that differ from the payload');
  add(extra, 'entries that are not in the payload');
  return violations;
}

/** Checks the document of a list. Each accepted event except a renewal writes the document in one commit with the key record. */
function checkListDocument(attempt: KeyRecord, lists: KeyLists, kind: ListKind, document?: Fields): Violation[] {
  const { boq_list_id, status } = attempt;
  const report = createReporter(boq_list_id, getListPath(kind, lists));
  if (document === undefined) return [report('list_document', 'does not exist')];
  const { status: expectedStatus, ...expected } = createExpectedList(attempt, lists, kind);
  const { status: found, ...stored } = document;
  const violations: Violation[] = [];
  if (found !== expectedStatus) {
    const shown = typeof found === 'string' && /^\w{1,20}$/.test(found) ? `is ${found}` : 'has no valid status';
    violations.push(report('list_status', `${shown}, but its attempt is ${status}`));
  }
  const differing = findDifferences(expected, stored);
  const others = Object.keys(stored).filter((name) => !Object.hasOwn(expected, name)).length;
  if (others > 0) differing.push(`unexpected fields: ${others}`);
  if (differing.length > 0)
    violations.push(report('list_document', `differs from its attempt: ${differing.join(', ')}`));
  return violations;
}

export const getListPath = (kind: ListKind, lists: ListIds): string =>
  `${LIST_COLLECTIONS[kind]}/${lists[`${kind}_id`]}`;
