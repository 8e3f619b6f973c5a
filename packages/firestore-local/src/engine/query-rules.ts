import { RpcError, invalid } from '../protocol/errors';
import { isEquality, isInequality, type Indexes, type Term } from './indexes';
import { assertCollectionId, formatFieldPath, getDatabaseName, isName, parseDocumentPath } from '../protocol/paths';
import type { Cursor, Filter, Order, StructuredQuery } from '../protocol/requests';
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
const MAX_NOT_IN_VALUES = 10;
const MAX_TERMS = 100;
const MAX_INEQUALITY_FIELDS = 10;
/** The maximum size of a value in an index. A query cannot look for a longer one. */
const MAX_QUERIED_BYTES = 1500;

const NEGATIONS: ReadonlySet<string> = new Set(['!=', 'not-in', 'isNotNaN', 'isNotNull']);
const LISTS: ReadonlySet<string> = new Set(['in', 'not-in', 'array-contains-any']);
const ARRAY_OPERATORS: ReadonlySet<string> = new Set(['array-contains', 'array-contains-any']);

/** A refusal that queries and aggregations share. */
export const GROUP_BELOW_DOCUMENT = 'collection group queries are only allowed at the root parent';

/** The rules, in the order in which they are checked. */
const RULES: readonly Rule[] = [
  ({ source: { offset } }) => (offset < 0 ? 'offset is negative' : undefined),
  ({ source: { limit = 0 } }) => (limit < 0 ? 'limit is negative' : undefined),
  ({ terms }) => firstProblem(terms, describeListProblem),
  ({ terms }) => firstProblem(terms, describeNameProblem),
  ({ terms }) => firstProblem(terms, describeSizeProblem),
  ({ terms }) =>
    terms.filter(({ op }) => NEGATIONS.has(op)).length > 1
      ? "Only a single '!=', 'not-in', 'is not NaN' or 'is not null' filter is allowed per query."
      : undefined,
  ({ terms }) =>
    terms.some(({ op }) => op === 'not-in') && terms.some(({ op }) => op === 'in' || op === 'array-contains-any')
      ? "'not-in' cannot be used in the same query with 'in' or 'array-contains-any'."
      : undefined,
  ({ source: { filter } }) =>
    filter && countArrayTerms(filter) > 1 ? 'A disjunction may have one array-contains filter at most.' : undefined,
  ({ source: { filter } }) =>
    filter && countDisjunctions(filter) > MAX_DISJUNCTIONS
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
      ? GROUP_BELOW_DOCUMENT
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
export function firstProblem<T>(items: readonly T[], describe: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = describe(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function describeListProblem(term: Term): string | undefined {
  if (term.kind !== 'field' || !LISTS.has(term.op)) return undefined;
  const { op, value } = term;
  if (!Array.isArray(value) || value.length === 0) return `'${op}' requires a non-empty array value.`;
  const max = op === 'not-in' ? MAX_NOT_IN_VALUES : MAX_DISJUNCTIONS;
  return value.length > max ? `'${op}' supports up to ${max} comparison values.` : undefined;
}

/** A document's name is compared with references to documents. */
function describeNameProblem(term: Term): string | undefined {
  if (!isName(term.path)) return undefined;
  if (ARRAY_OPERATORS.has(term.op)) return 'the name __key__ is reserved';
  const isKey = term.kind === 'field' && getTermValues(term).every((value) => value instanceof Reference);
  return isKey ? undefined : '__key__ filter value must be a Key';
}

function describeSizeProblem(term: Term): string | undefined {
  if (term.kind !== 'field' || isName(term.path)) return undefined;
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
  const filtered = terms.flatMap((term) => (term.kind === 'field' && isName(term.path) ? getTermValues(term) : []));
  const names = [filtered, ...[source.startAt, source.endAt].map((cursor) => getNamesOfCursor(cursor, source.orderBy))];
  for (const value of names.flat()) {
    if (value instanceof Reference && parseDocumentPath(value.name).database !== database) {
      throw invalid('The key is in a different database than the query.');
    }
  }
}

const getNamesOfCursor = (cursor: Cursor | undefined, orderBy: readonly Order[]): Value[] =>
  cursor?.values.filter((_, i) => isName(orderBy[i]?.path ?? [])) ?? [];

/** The operands of a comparison. */
function getTermValues(term: Extract<Term, { kind: 'field' }>): readonly Value[] {
  return LISTS.has(term.op) && Array.isArray(term.value) ? term.value : [term.value];
}

function getOperands({ startAt, endAt }: StructuredQuery, terms: readonly Term[]): readonly Value[] {
  const filtered = terms.flatMap((term) => (term.kind === 'field' ? [term.value] : []));
  return [...filtered, ...(startAt?.values ?? []), ...(endAt?.values ?? [])];
}

/** The comparisons of a filter. */
export function getTerms(filter: Filter): readonly Term[] {
  return filter.kind === 'field' || filter.kind === 'unary' ? [filter] : filter.filters.flatMap(getTerms);
}

/** Whether a query reads collections below a document. */
export const isBelowDocument = ({ parent }: StructuredQuery): boolean => parent.split('/').length > 5;

/** The largest number of array comparisons in any disjunction. */
function countArrayTerms(filter: Filter): number {
  switch (filter.kind) {
    case 'unary':
      return 0;
    case 'field':
      return ARRAY_OPERATORS.has(filter.op) ? 1 : 0;
    case 'or':
      return Math.max(0, ...filter.filters.map(countArrayTerms));
    case 'and':
      return filter.filters.reduce((sum, part) => sum + countArrayTerms(part), 0);
  }
}

/** The number of conjunctions that a filter expands to. Each value of an `in` is one. */
function countDisjunctions(filter: Filter): number {
  switch (filter.kind) {
    case 'unary':
      return 1;
    case 'field':
      return filter.op !== 'not-in' && LISTS.has(filter.op) ? getTermValues(filter).length : 1;
    case 'or':
      return filter.filters.reduce((sum, part) => sum + countDisjunctions(part), 0);
    case 'and':
      return filter.filters.reduce((product, part) => product * countDisjunctions(part), 1);
  }
}
