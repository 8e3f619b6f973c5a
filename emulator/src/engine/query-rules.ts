import { RpcError, invalid, unsupported } from '../protocol/errors';
import { getTerms, isEquality, type Term } from './indexes';
import {
  assertCollectionId,
  assertInDatabase,
  formatFieldPath,
  getDatabaseName,
  isName,
  parseDocumentPath,
} from '../protocol/paths';
import type { Cursor, Order, StructuredQuery } from '../protocol/requests';
import { assertValue } from '../protocol/value-rules';
import { Reference, getValueSize, type Value } from '../protocol/values';

/*
 * Refuses queries that Firestore refuses regardless of the stored data, or that this server does not serve. The limits come from
 * https://firebase.google.com/docs/firestore/quotas and https://firebase.google.com/docs/firestore/query-data/queries
 */

const MAX_DISJUNCTIONS = 30;
/** The maximum size of an indexed value. Firestore refuses a larger value in a filter. */
const MAX_QUERIED_BYTES = 1500;

/**
 * @param orders the order with its implicit terms
 * @throws RpcError if a rule of this file refuses the query
 */
export function assertQuery(source: StructuredQuery, orders: readonly Order[]): void {
  const terms = source.filter ? getTerms(source.filter) : [];
  assertCollectionId(source.collectionId);
  if (source.allDescendants && source.parent.split('/').length > 5)
    throw unsupported('A collection group below a document');
  if (source.limit !== undefined && source.limit < 0) throw invalid('limit is negative');
  const database = getDatabaseName(source.parent);
  for (const term of terms) assertTerm(term, database);
  if (terms.reduce((product, term) => product * getOperands(term).length, 1) > MAX_DISJUNCTIONS) {
    throw invalid(`Invalid query. A query holds at most ${MAX_DISJUNCTIONS} disjunctions.`);
  }
  // Firestore serves ranges of several fields, and adds these fields to the order of the results. This server refuses such ranges.
  const compared = terms.filter((term) => !isEquality(term) || isName(term.path));
  const isRange = compared.some((term) => !isEquality(term));
  if (isRange && countPaths(compared) > 1)
    throw unsupported('Ranges of several fields, or a range of a field with a filter on document ids');
  if (countPaths(source.orderBy) < source.orderBy.length)
    throw invalid('order by clause cannot contain duplicate fields');
  if (orders.slice(0, -1).some(({ path }) => isName(path))) {
    throw invalid('order by clause cannot contain more fields after the key');
  }
  if (source.startAt) assertCursor(source.startAt, source.orderBy, database);
  assertNameOrder(source.orderBy, terms);
}

function assertTerm(term: Term, database: string): void {
  if (term.kind === 'field' && term.op === 'in') {
    const isList = Array.isArray(term.value) && term.value.length > 0;
    if (!isList) throw invalid("'in' requires a non-empty array value.");
  }
  for (const value of getOperands(term)) {
    assertValue(value);
    if (isName(term.path)) assertKey(value, database);
    else if (getValueSize(value) > MAX_QUERIED_BYTES) {
      throw invalid(`value for ${formatFieldPath(term.path)} is too large to be used in a query`);
    }
  }
}

function assertCursor({ values }: Cursor, orderBy: readonly Order[], database: string): void {
  if (values.length > orderBy.length) throw invalid('Cursor has too many values.');
  for (const [i, value] of values.entries()) {
    assertValue(value);
    if (isName(orderBy[i]?.path ?? [])) assertKey(value, database);
  }
}

/** Checks a value that is compared with the names of documents. */
function assertKey(value: Value, database: string): void {
  if (!(value instanceof Reference)) throw invalid('A value compared with __name__ must be a reference.');
  assertInDatabase(parseDocumentPath(value.name), database);
}

/** Refuses an order that begins with descending names, as Firestore does, unless the query has an equality on a field. */
function assertNameOrder([first]: readonly Order[], terms: readonly Term[]): void {
  if (!first?.descending || !isName(first.path)) return;
  if (terms.some((term) => isEquality(term) && !isName(term.path))) return;
  throw new RpcError('FAILED_PRECONDITION', 'The query requires an index of __name__ in descending order.');
}

const countPaths = (items: readonly (Term | Order)[]): number =>
  new Set(items.map(({ path }) => formatFieldPath(path))).size;

/** Returns the operands of a comparison. Only `in` can have several. */
function getOperands(term: Term): readonly Value[] {
  if (term.kind === 'isNull') return [null];
  return term.op === 'in' && Array.isArray(term.value) ? term.value : [term.value];
}
