import { RpcError, invalid } from '../protocol/errors';
import { getTerms, isEquality, isInequality, type Indexes, type Term } from './indexes';
import { assertCollectionId, formatFieldPath, getDatabaseName, isName, parseDocumentPath } from '../protocol/paths';
import type { Aggregation, Cursor, Order, StructuredQuery } from '../protocol/requests';
import { assertValue } from '../protocol/value-rules';
import { Reference, getQueriedSize, type Value } from '../protocol/values';

/*
 * The queries that Firestore refuses, whatever is stored. The limits come from https://firebase.google.com/docs/firestore/quotas and
 * "Query limitations" of https://firebase.google.com/docs/firestore/query-data/queries; Google's emulator has the same.
 */

/** A query, with the parts that the rules check. */
interface Subject {
  readonly source: StructuredQuery;
  /** All comparisons of the filter, at any depth. */
  readonly terms: readonly Term[];
  /** The order with its implicit terms. */
  readonly orders: readonly Order[];
}

/** Returns the first problem of a query, or undefined if there is none. */
type Rule = (subject: Subject) => string | undefined;

const MAX_DISJUNCTIONS = 30;
const MAX_TERMS = 100;
const MAX_INEQUALITY_FIELDS = 10;
/** The maximum size of a value in an index. A query cannot look for a longer one. */
const MAX_QUERIED_BYTES = 1500;

/** The rules, in the order in which they are checked. */
const RULES: readonly Rule[] = [
  ({ source: { limit = 0 } }) => (limit < 0 ? 'limit is negative' : undefined),
  ({ terms }) => firstProblem(terms, describeListProblem),
  ({ terms }) => firstProblem(terms, describeNameProblem),
  ({ terms }) => firstProblem(terms, describeSizeProblem),
  ({ terms }) =>
    terms.reduce((product, term) => product * getTermValues(term).length, 1) > MAX_DISJUNCTIONS
      ? `Invalid query. A query holds at most ${MAX_DISJUNCTIONS} disjunctions.`
      : undefined,
  ({ source, terms }) =>
    terms.length + source.orderBy.length + (isBelowDocument(source) ? 1 : 0) > MAX_TERMS
      ? `The query may not have more than ${MAX_TERMS} filters, orders and parent documents.`
      : undefined,
  ({ terms }) =>
    new Set(terms.filter(isInequality).map(({ path }) => formatFieldPath(path))).size > MAX_INEQUALITY_FIELDS
      ? `A query may not have inequalities on more than ${MAX_INEQUALITY_FIELDS} fields.`
      : undefined,
  ({ source: { orderBy } }) =>
    new Set(orderBy.map(({ path }) => formatFieldPath(path))).size < orderBy.length
      ? 'order by clause cannot contain duplicate fields'
      : undefined,
  ({ orders }) =>
    orders.slice(0, -1).some(({ path }) => isName(path))
      ? 'order by clause cannot contain more fields after the key'
      : undefined,
  // The index of a collection group does not contain the parent documents of its collections.
  ({ source, terms, orders }) =>
    source.allDescendants &&
    source.collectionId !== undefined &&
    isBelowDocument(source) &&
    [...terms, ...orders].some(({ path }) => !isName(path))
      ? 'collection group queries are only allowed at the root parent'
      : undefined,
  ({ terms }) =>
    terms.some((term) => isName(term.path) && isEquality(term)) &&
    terms.some((term) => !isName(term.path) && isInequality(term)) &&
    !terms.some((term) => isName(term.path) && isInequality(term))
      ? 'Equality on key is not allowed if there are other inequality fields and key does not appear in inequalities.'
      : undefined,
  ({ source, terms }) =>
    source.collectionId === undefined && terms.some(({ path }) => !isName(path))
      ? 'A query without a collection id can filter by __name__ only.'
      : undefined,
  ({ source, orders }) =>
    source.collectionId === undefined && orders.some(({ path, descending }) => !isName(path) || descending)
      ? 'A query without a collection id can be ordered by __name__ ascending only.'
      : undefined,
  ({ source: { startAt, orderBy } }) => describeCursorProblem(startAt, orderBy),
  ({ source: { endAt, orderBy } }) => describeCursorProblem(endAt, orderBy),
];

/** @throws RpcError INVALID_ARGUMENT for a query that Firestore refuses */
export function assertQuery(source: StructuredQuery, orders: readonly Order[]): void {
  const terms = source.filter ? getTerms(source.filter) : [];
  if (source.collectionId !== undefined) assertCollectionId(source.collectionId);
  for (const value of getOperands(source, terms)) assertValue(value);
  const problem = firstProblem(RULES, (rule) => rule({ source, terms, orders }));
  if (problem !== undefined) throw invalid(problem);
  assertDatabaseOfNames(source, terms);
}

/**
 * Asserts that an index serves a descending order of names. Firestore has none unless it is declared. With an equality on a
 * field, that field's index serves.
 *
 * @throws RpcError FAILED_PRECONDITION
 */
export function assertNameOrder(source: StructuredQuery, indexes: Indexes): void {
  const [first] = source.orderBy;
  if (!first?.descending || !isName(first.path)) return;
  const terms = source.filter ? getTerms(source.filter) : [];
  if (terms.some((term) => !isInequality(term) && !isName(term.path))) return;
  const scope = source.allDescendants ? 'COLLECTION_GROUP' : 'COLLECTION';
  if (indexes.hasDescendingNames(source.collectionId ?? '', scope)) return;
  throw new RpcError('FAILED_PRECONDITION', 'The query requires an index of __name__ in descending order.');
}

/** Returns the first problem that any of the rules finds. */
function firstProblem<T>(items: readonly T[], describe: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = describe(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function describeListProblem(term: Term): string | undefined {
  if (term.kind !== 'field' || term.op !== 'in') return undefined;
  if (!Array.isArray(term.value) || term.value.length === 0) return "'in' requires a non-empty array value.";
  return term.value.length > MAX_DISJUNCTIONS
    ? `'in' supports up to ${MAX_DISJUNCTIONS} comparison values.`
    : undefined;
}

/** A document's name is compared with references to documents. */
function describeNameProblem(term: Term): string | undefined {
  if (!isName(term.path)) return undefined;
  const isKey = getTermValues(term).every((value) => value instanceof Reference);
  return isKey ? undefined : '__key__ filter value must be a Key';
}

function describeSizeProblem(term: Term): string | undefined {
  if (isName(term.path)) return undefined;
  return getTermValues(term).some((value) => getQueriedSize(value) > MAX_QUERIED_BYTES)
    ? `value for ${formatFieldPath(term.path)} is too large to be used in a query`
    : undefined;
}

function describeCursorProblem(cursor: Cursor | undefined, orderBy: readonly Order[]): string | undefined {
  if (!cursor) return undefined;
  if (cursor.values.length > orderBy.length) return 'Cursor has too many values.';
  const isKey = cursor.values.every((value, i) => value instanceof Reference || !isName(orderBy[i]?.path ?? []));
  return isKey ? undefined : 'A cursor on __name__ must be a reference.';
}

/** References that a query compares with names must point to documents of its database. */
function assertDatabaseOfNames(source: StructuredQuery, terms: readonly Term[]): void {
  const database = getDatabaseName(source.parent);
  const filtered = terms.flatMap((term) => (isName(term.path) ? getTermValues(term) : []));
  const names = [filtered, ...[source.startAt, source.endAt].map((cursor) => getNamesOfCursor(cursor, source.orderBy))];
  for (const value of names.flat()) {
    if (value instanceof Reference && parseDocumentPath(value.name).database !== database) {
      throw invalid('The key is in a different database than the query.');
    }
  }
}

const getNamesOfCursor = (cursor: Cursor | undefined, orderBy: readonly Order[]): Value[] =>
  cursor?.values.filter((_, i) => isName(orderBy[i]?.path ?? [])) ?? [];

/** The operands of a comparison, of which `in` has several. */
function getTermValues(term: Term): readonly Value[] {
  if (term.kind === 'isNull') return [null];
  return term.op === 'in' && Array.isArray(term.value) ? term.value : [term.value];
}

function getOperands({ startAt, endAt }: StructuredQuery, terms: readonly Term[]): readonly Value[] {
  const filtered = terms.flatMap((term) => (term.kind === 'field' ? [term.value] : []));
  return [...filtered, ...(startAt?.values ?? []), ...(endAt?.values ?? [])];
}

/** Whether a query reads collections below a document. */
const isBelowDocument = ({ parent }: StructuredQuery): boolean => parent.split('/').length > 5;

const MAX_AGGREGATIONS = 5;
const MAX_ALIAS_BYTES = 1500;

/** @throws RpcError INVALID_ARGUMENT for counts that Firestore refuses in any query */
export function assertAggregations(aggregations: readonly Aggregation[]): void {
  const aliases = aggregations.map(({ alias }) => alias);
  if (aliases.length === 0) throw invalid('Aggregations can not be empty.');
  if (aliases.length > MAX_AGGREGATIONS) {
    throw invalid(`The maximum number of aggregations allowed in a query is ${MAX_AGGREGATIONS}.`);
  }
  for (const alias of aliases) {
    if (/^__.*__$/s.test(alias)) throw invalid(`The alias "${alias}" is reserved.`);
    if (Buffer.byteLength(alias) > MAX_ALIAS_BYTES) throw invalid(`An alias is longer than ${MAX_ALIAS_BYTES} bytes.`);
  }
  if (new Set(aliases).size < aliases.length) throw invalid('Aggregation aliases contain duplicate alias.');
}
