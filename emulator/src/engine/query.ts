import { createFieldReader } from '../protocol/codec';
import { findFirst, getResourceName, type StoredDoc } from '../storage/collections';
import { getTerms, isEquality } from './indexes';
import { NAME, formatFieldPath, isName, parseParentPath, type FieldPath } from '../protocol/paths';
import type { Cursor, Filter, Operator, Order, StructuredQuery } from '../protocol/requests';
import { assertQuery } from './query-rules';
import type { Store } from '../storage/store';
import {
  Reference,
  compareStrings,
  compareNames,
  compareValues,
  getTypeOrder,
  isComparable,
  type Value,
} from '../protocol/values';

/** A valid query in compiled form, with the implicit terms of its order. */
export interface PreparedQuery {
  readonly source: StructuredQuery;
  readonly orders: readonly Order[];
  /** Returns whether the query finds a document of its collections, before the limit applies. */
  readonly matches: (doc: StoredDoc) => boolean;
  /** For a query in the order of names: returns whether a document is before the start that a cursor or a filter on names sets. */
  readonly isBefore: (doc: StoredDoc) => boolean;
}

export function prepareQuery(source: StructuredQuery): PreparedQuery {
  parseParentPath(source.parent);
  const orders = completeOrder(source);
  assertQuery(source, orders);
  const required = orders
    .filter(({ path }) => !isName(path) && !isRequired(path, source.filter))
    .map(({ path }) => createValueReader(path));
  const start = source.startAt && compileCursor(source.startAt, orders);
  const filter = source.filter && compileFilter(source.filter);
  return {
    source,
    orders,
    matches: (doc) =>
      (!filter || filter(doc)) &&
      // A document without one of the fields has no position in the order.
      required.every((read) => read(doc) !== undefined) &&
      (!start || start(doc) >= 0),
    isBefore: compileIsBefore(source, orders, start),
  };
}

function compileIsBefore(
  { filter }: StructuredQuery,
  [first]: readonly Order[],
  start: ((doc: StoredDoc) => number) | undefined,
): (doc: StoredDoc) => boolean {
  const sign = first?.descending ? -1 : 1;
  const operators = ['==', ...(sign > 0 ? ['>', '>='] : ['<', '<='])];
  const bounds = (filter ? getTerms(filter) : []).flatMap((term) =>
    term.kind !== 'isNull' && isName(term.path) && operators.includes(term.op) ? [term.value] : [],
  );
  return (doc) =>
    (start !== undefined && start(doc) < 0) ||
    bounds.some((value) => compareValues(new Reference(getResourceName(doc)), value) * sign < 0);
}

/** Returns whether a filter matches only documents that have a field. */
function isRequired(path: FieldPath, filter: Filter | undefined): boolean {
  if (filter?.kind === 'and') return filter.filters.some((part) => isRequired(path, part));
  return filter !== undefined && formatFieldPath(filter.path) === formatFieldPath(path);
}

/**
 * Adds the field of a range and the document's name to an order that lacks them. Their direction is that of the order's last
 * term, or ascending if the order is empty.
 * https://firebase.google.com/docs/firestore/query-data/order-limit-data
 */
function completeOrder({ orderBy, filter }: StructuredQuery): Order[] {
  const orders = [...orderBy];
  const descending = orderBy.at(-1)?.descending ?? false;
  const range = (filter ? getTerms(filter) : []).find((term) => !isEquality(term));
  for (const path of [range?.path ?? NAME, NAME]) {
    const text = formatFieldPath(path);
    if (!orders.some((order) => formatFieldPath(order.path) === text)) orders.push({ path, descending });
  }
  return orders;
}

/** Creates a function that reads a field of a stored document, or the document's name. */
function createValueReader(path: FieldPath): (doc: StoredDoc) => Value | undefined {
  if (isName(path)) return (doc) => new Reference(getResourceName(doc));
  const read = createFieldReader(path);
  return (doc) => read(doc.fields);
}

function compileFilter(filter: Filter): (doc: StoredDoc) => boolean {
  if (filter.kind === 'and') {
    const parts = filter.filters.map(compileFilter);
    return (doc) => parts.every((part) => part(doc));
  }
  const read = createValueReader(filter.path);
  const test = filter.kind === 'isNull' ? (value: Value) => value === null : createComparison(filter.op, filter.value);
  return (doc) => {
    const value = read(doc);
    return value !== undefined && test(value);
  };
}

/** Creates the test of an operator on the value of an existing field. A range contains only values of the operand's type. */
function createComparison(operator: Operator, operand: Value): (value: Value) => boolean {
  const operands = Array.isArray(operand) ? operand : [];
  const type = getTypeOrder(operand);
  const inRange =
    (test: (order: number) => boolean) =>
    (value: Value): boolean =>
      isComparable(value) && getTypeOrder(value) === type && test(compareValues(value, operand));
  const comparisons: Record<Operator, (value: Value) => boolean> = {
    '<': inRange((order) => order < 0),
    '<=': inRange((order) => order <= 0),
    '>': inRange((order) => order > 0),
    '>=': inRange((order) => order >= 0),
    '==': (value) => isComparable(value) && compareValues(value, operand) === 0,
    in: (value) => isComparable(value) && operands.some((item) => compareValues(item, value) === 0),
  };
  return comparisons[operator];
}

/** Compiles a cursor to a comparison with a document. The result is negative if the document is before the cursor. */
function compileCursor({ values, before }: Cursor, orders: readonly Order[]): (doc: StoredDoc) => number {
  const terms = orders.slice(0, values.length).map(({ path, descending }, i) => {
    return { read: createValueReader(path), sign: descending ? -1 : 1, value: values[i] ?? null };
  });
  return (doc) => {
    for (const { read, sign, value } of terms) {
      const order = compareValues(read(doc) ?? null, value) * sign;
      if (order !== 0) return order;
    }
    return before ? 1 : -1;
  };
}

/** Runs a query on the documents at this moment, or on those at a read time in microseconds. */
export function runQuery(query: PreparedQuery, store: Store, readTime: number | undefined): Iterable<StoredDoc> {
  const { orders, matches, source } = query;
  const { parent, collectionId, allDescendants } = source;
  const collections = allDescendants ? store.collectionsOfGroup(parent, collectionId) : [`${parent}/${collectionId}`];
  const snapshots = collections.map((collection) => store.snapshot(collection, readTime));
  const [first] = orders;
  // In the order of names, the documents of a nested collection are between those of the outer collection, so these collections
  // cannot be read one after another.
  const isNested = collections.some((path, i) => collections[i + 1]?.startsWith(`${path}/`));
  const isByName = first !== undefined && isName(first.path) && !isNested;
  if (isByName) return findInOrder(query, snapshots, first.descending);
  const found = snapshots.flatMap((docs) => docs.filter(matches));
  return sortDocs(found, orders).slice(0, source.limit);
}

/** Finds documents in the order of their names, from the start of the query. */
function* findInOrder(
  { matches, isBefore, source }: PreparedQuery,
  snapshots: readonly (readonly StoredDoc[])[],
  descending: boolean,
): Generator<StoredDoc, undefined> {
  let left = source.limit ?? Infinity;
  const ordered = (descending ? snapshots.toReversed() : snapshots).filter((docs) => docs.length > 0);
  // A binary search skips the collections that end before the query begins, because a group can have thousands of collections.
  const first = findFirst(ordered.length, (index) => {
    const last = ordered[index]?.at(descending ? 0 : -1);
    return last !== undefined && !isBefore(last);
  });
  for (const docs of ordered.slice(first)) {
    const at = (index: number) => docs.at(descending ? -1 - index : index);
    const start = findFirst(docs.length, (index) => {
      const doc = at(index);
      return doc !== undefined && !isBefore(doc);
    });
    for (let i = start; i < docs.length && left > 0; i++) {
      const doc = at(i);
      if (!doc || !matches(doc)) continue;
      left--;
      yield doc;
    }
  }
}

function sortDocs(docs: readonly StoredDoc[], orders: readonly Order[]): StoredDoc[] {
  const terms = orders.map(({ path, descending }) => ({
    // Names need no reader: compareByName builds them only if the collections differ.
    read: isName(path) ? undefined : createValueReader(path),
    sign: descending ? -1 : 1,
  }));
  const entries = docs.map((doc) => ({ doc, keys: terms.map(({ read }) => read?.(doc) ?? null) }));
  entries.sort((a, b) => {
    for (let i = 0; i < terms.length; i++) {
      const order = terms[i]?.read ? compareValues(a.keys[i] ?? null, b.keys[i] ?? null) : compareByName(a.doc, b.doc);
      if (order !== 0) return order * (terms[i]?.sign ?? 1);
    }
    return 0;
  });
  return entries.map(({ doc }) => doc);
}

function compareByName(a: StoredDoc, b: StoredDoc): number {
  if (a.collection === b.collection) return compareStrings(a.id, b.id);
  return compareNames(getResourceName(a), getResourceName(b));
}
