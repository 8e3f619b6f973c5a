import { fieldReader } from './codec';
import { getResourceName, type StoredDoc, type EqualityIndex } from './collections';
import { invalid } from './errors';
import { isEquality, type Term } from './indexes';
import { NAME, compareFieldPaths, getDatabaseName, formatFieldPath, isName, parentPath, type FieldPath } from './paths';
import type { Cursor, Filter, Operator, Order, StructuredQuery } from './schema';
import { sortInSlices, timeSlices } from './slices';
import type { SnapshotView, Store } from './store';
import { Reference, compareNames, compareValues, equalValues, equalityKey, typeOrder, type Value } from './values';

/** A query ready to run: checked, with the implicit terms of its order, and compiled. */
export interface PreparedQuery {
  readonly source: StructuredQuery;
  readonly orders: readonly Order[];
  /** Whether a document, wherever it stands, is in the query's range before offset and limit. */
  readonly matches: (doc: StoredDoc) => boolean;
  /** Whether documents of a collection can be. */
  readonly covers: (collection: string) => boolean;
}

const MAX_DISJUNCTIONS = 30;

/** Checks and compiles a query. */
export function prepareQuery(source: StructuredQuery): PreparedQuery {
  parentPath(source.parent);
  if (source.collectionId === undefined && !source.allDescendants) throw invalid('The query names no collection.');
  if (source.filter && disjunctionCount(source.filter) > MAX_DISJUNCTIONS) {
    throw invalid(`Invalid query. A query holds at most ${MAX_DISJUNCTIONS} disjunctions.`);
  }
  if (source.offset < 0 || (source.limit ?? 0) < 0) throw invalid('offset and limit must not be negative.');
  const orders = fullOrder(source);
  const required = orders.filter(({ path }) => !isName(path) && !isRequired(path, source.filter)).map(fieldOf);
  const start = source.startAt && compileCursor(source.startAt, orders);
  const end = source.endAt && compileCursor(source.endAt, orders);
  const filter = source.filter && compileFilter(source.filter, getDatabaseName(source.parent));
  return {
    source,
    orders,
    matches: (doc) =>
      (!filter || filter(doc)) &&
      // A document without one of the fields has no place in the order.
      required.every((read) => read(doc) !== undefined) &&
      (!start || start(doc) >= 0) &&
      (!end || end(doc) < 0),
    covers: coverage(source),
  };
}

const fieldOf = ({ path }: Order): ((doc: StoredDoc) => Value | undefined) => createValueReader(path);

/** Whether a filter by itself lets through only documents that have a field. */
function isRequired(path: FieldPath, filter: Filter | undefined): boolean {
  if (filter?.kind === 'and') return filter.filters.some((part) => isRequired(path, part));
  const term = filter?.kind === 'field' || filter?.kind === 'unary' ? filter : undefined;
  return term !== undefined && compareFieldPaths(term.path, path) === 0;
}

function coverage({ parent, collectionId, allDescendants }: StructuredQuery): (collection: string) => boolean {
  if (!allDescendants) return (collection) => collection === `${parent}/${collectionId}`;
  const suffix = collectionId === undefined ? '' : `/${collectionId}`;
  return (collection) => collection.startsWith(`${parent}/`) && collection.endsWith(suffix);
}

/** The collections that a query reads; they have to be loaded before it runs. */
export function getQueryCollections({ source }: PreparedQuery, store: Store): string[] {
  if (!source.allDescendants) return [`${source.parent}/${source.collectionId}`];
  return store.descendantCollections(source.parent, source.collectionId);
}

/** How many conjunctions a filter expands to, each value of an `in` making one. */
function disjunctionCount(filter: Filter): number {
  switch (filter.kind) {
    case 'unary':
      return 1;
    case 'field':
      if (!['in', 'array-contains-any', 'not-in'].includes(filter.op)) return 1;
      if (!Array.isArray(filter.value) || filter.value.length === 0) {
        throw invalid(`'${filter.op}' requires a non-empty array value.`);
      }
      if (filter.op !== 'not-in') return filter.value.length;
      if (filter.value.length > 10) throw invalid("'not-in' supports up to 10 comparison values.");
      return 1;
    case 'or':
      return filter.filters.reduce((sum, part) => sum + disjunctionCount(part), 0);
    case 'and':
      return filter.filters.reduce((product, part) => product * disjunctionCount(part), 1);
  }
}

/**
 * The order that Firestore follows: the terms given, then the other fields of inequalities by name, then the document's
 * name; implicit terms take the direction of the last one given.
 * https://firebase.google.com/docs/firestore/query-data/multiple-range-fields
 */
function fullOrder({ orderBy, filter }: StructuredQuery): Order[] {
  const orders = [...orderBy];
  const descending = orderBy.at(-1)?.descending ?? false;
  const ordered = new Set(orders.map(({ path }) => formatFieldPath(path)));
  for (const path of [...inequalityPaths(filter), NAME]) {
    const text = formatFieldPath(path);
    if (ordered.has(text)) continue;
    ordered.add(text);
    orders.push({ path, descending });
  }
  return orders;
}

function inequalityPaths(filter: Filter | undefined): FieldPath[] {
  const terms = (part: Filter): Term[] =>
    part.kind === 'field' || part.kind === 'unary' ? [part] : part.filters.flatMap(terms);
  const inequalities = filter ? terms(filter).filter((term) => !isEquality(term) && !isName(term.path)) : [];
  return inequalities.map(({ path }) => path).sort(compareFieldPaths);
}

/** Reads a field, or the name, of a stored document. */
export function createValueReader(path: FieldPath): (doc: StoredDoc) => Value | undefined {
  if (isName(path)) return (doc) => new Reference(getResourceName(doc));
  const read = fieldReader(path);
  return (doc) => read(doc.fields);
}

function compileFilter(filter: Filter, database: string): (doc: StoredDoc) => boolean {
  switch (filter.kind) {
    case 'and': {
      const parts = filter.filters.map((part) => compileFilter(part, database));
      return (doc) => parts.every((part) => part(doc));
    }
    case 'or': {
      const parts = filter.filters.map((part) => compileFilter(part, database));
      return (doc) => parts.some((part) => part(doc));
    }
    case 'unary': {
      const read = createValueReader(filter.path);
      switch (filter.op) {
        case 'isNull':
          return (doc) => read(doc) === null;
        case 'isNotNull':
          return (doc) => (read(doc) ?? null) !== null;
        case 'isNaN':
          return (doc) => Number.isNaN(read(doc));
        case 'isNotNaN':
          return (doc) => {
            const value = read(doc) ?? null;
            return value !== null && !Number.isNaN(value);
          };
      }
    }
    case 'field': {
      const read = createValueReader(filter.path);
      if (isName(filter.path)) checkNames(filter.value, database);
      const test = comparison(filter.op, filter.value);
      return (doc) => {
        const value = read(doc);
        return value !== undefined && test(value);
      };
    }
  }
}

/** A document's name compares with references to documents of the same database only. */
function checkNames(value: Value, database: string): void {
  for (const item of Array.isArray(value) ? value : [value]) {
    if (!(item instanceof Reference) || getDatabaseName(item.name) !== database) {
      throw invalid('__key__ filter value must be a Key');
    }
  }
}

/** The test of an operator on a value that is there. A field of null satisfies neither `!=` nor `not-in`. */
function comparison(op: Operator, operand: Value): (value: Value) => boolean {
  const operands = Array.isArray(operand) ? operand : [];
  const type = typeOrder(operand);
  // A range holds values of the operand's type only.
  const range =
    (test: (order: number) => boolean) =>
    (value: Value): boolean =>
      typeOrder(value) === type && test(compareValues(value, operand));
  const among = (value: Value): boolean => operands.some((item) => equalValues(item, value));
  switch (op) {
    case '<':
      return range((order) => order < 0);
    case '<=':
      return range((order) => order <= 0);
    case '>':
      return range((order) => order > 0);
    case '>=':
      return range((order) => order >= 0);
    case '==':
      return (value) => equalValues(value, operand);
    case '!=':
      return (value) => value !== null && !equalValues(value, operand);
    case 'in':
      return among;
    case 'not-in':
      return operands.includes(null) ? () => false : (value) => value !== null && !among(value);
    case 'array-contains':
      return (value) => Array.isArray(value) && value.some((item) => equalValues(item, operand));
    case 'array-contains-any':
      return (value) => Array.isArray(value) && value.some(among);
  }
}

/** The side of a cursor that a document is on: negative before it, positive after it, never 0. */
function compileCursor({ values, before }: Cursor, orders: readonly Order[]): (doc: StoredDoc) => number {
  if (values.length > orders.length) throw invalid('The cursor has more values than the order has terms.');
  const terms = orders.slice(0, values.length).map(({ path, descending }, i) => {
    const value = values[i] ?? null;
    if (isName(path) && !(value instanceof Reference)) throw invalid('A cursor on __name__ must be a reference.');
    return { read: createValueReader(path), sign: descending ? -1 : 1, value };
  });
  return (doc) => {
    for (const { read, sign, value } of terms) {
      const order = compareValues(read(doc) ?? null, value) * sign;
      if (order !== 0) return order;
    }
    return before ? 1 : -1;
  };
}

/**
 * Runs a query over one moment, and yields its documents in batches. The collections must have been loaded. Their order
 * may not matter to the caller; to an offset or a limit it does.
 */
export async function* runQuery(
  query: PreparedQuery,
  store: Store,
  view?: SnapshotView,
  ordered = true,
): AsyncGenerator<readonly StoredDoc[]> {
  let skip = query.source.offset;
  let left = query.source.limit ?? Infinity;
  if (left === 0) return;
  const anyOrder = !ordered && skip === 0 && left === Infinity;
  for await (const docs of inOrder(query, store, view, anyOrder)) {
    const skipped = Math.min(skip, docs.length);
    skip -= skipped;
    const batch = docs.slice(skipped, skipped + left);
    left -= batch.length;
    if (batch.length > 0) yield batch;
    if (left === 0) return;
  }
}

async function* inOrder(
  query: PreparedQuery,
  store: Store,
  view: SnapshotView | undefined,
  anyOrder: boolean,
): AsyncGenerator<readonly StoredDoc[]> {
  const pause = timeSlices();
  const collections = getQueryCollections(query, store);
  const [first] = query.orders;
  const byName = first !== undefined && isName(first.path);
  const descending = byName && first.descending;
  const candidates = candidatesOf(query, collections, store, view, descending);
  // One collection, read from end to end, is in the order of names already: it can go out while it is read.
  const sorted = anyOrder || (byName && collections.length === 1 && candidates.sorted);
  // With a limit only the first so many have to be kept; sorting them anew now and then costs less than sorting all.
  const keep = query.source.offset + (query.source.limit ?? Infinity);
  let found: StoredDoc[] = [];
  for (const docs of candidates.runs) {
    await pause();
    const matching = docs.filter(query.matches);
    if (!sorted) for (const doc of matching) found.push(doc);
    else if (matching.length > 0) yield matching;
    if (found.length > 2 * keep + PRUNE) found = (await sortDocs(found, query.orders, pause)).slice(0, keep);
  }
  if (!sorted) yield await sortDocs(found, query.orders, pause);
  for (const index of candidates.wanted) void index.fill(timeSlices());
}

interface Candidates {
  readonly runs: Iterable<readonly StoredDoc[]>;
  readonly sorted: boolean;
  /** Indexes that would have helped and are not filled yet: this query is faster without, the next one with them. */
  readonly wanted: readonly EqualityIndex[];
}

/** The documents to look at: those with one of the query's equalities where an index knows them, otherwise all. */
function candidatesOf(
  query: PreparedQuery,
  paths: readonly string[],
  store: Store,
  view: SnapshotView | undefined,
  descending: boolean,
): Candidates {
  const [path] = paths;
  const collection = path !== undefined && paths.length === 1 && !view ? store.collection(path) : undefined;
  const indexed = collection && collection.size >= MIN_INDEXED ? requiredEqualities(query.source.filter) : [];
  const equalities = indexed.flatMap(({ path, key }) => (collection ? [{ index: collection.index(path), key }] : []));
  const buckets = equalities.filter(({ index }) => index.ready).map(({ index, key }) => index.get(key));
  const wanted = equalities.map(({ index }) => index).filter((index) => !index.ready);
  if (buckets.length > 0) {
    const smallest = buckets.reduce((best, bucket) => (bucket.size < best.size ? bucket : best));
    return { runs: chunks(Array.from(smallest)), sorted: false, wanted };
  }
  const snapshots = paths.map((each) => store.snapshot(each, view));
  return { runs: runsOf(snapshots, descending), sorted: true, wanted };
}

const PRUNE = 2000;

/** Below this a scan costs less than an index. */
const MIN_INDEXED = 500;

function* runsOf(
  snapshots: readonly ReturnType<Store['snapshot']>[],
  descending: boolean,
): Generator<readonly StoredDoc[]> {
  for (const snapshot of snapshots) yield* snapshot.runs(descending);
}

function* chunks(docs: readonly StoredDoc[]): Generator<readonly StoredDoc[]> {
  for (let at = 0; at < docs.length; at += 256) yield docs.slice(at, at + 256);
}

/** The equalities with a scalar that every document of the result satisfies. */
function requiredEqualities(filter: Filter | undefined): { path: FieldPath; key: string }[] {
  if (!filter) return [];
  if (filter.kind === 'and') return filter.filters.flatMap(requiredEqualities);
  if (filter.kind !== 'field' || filter.op !== '==' || isName(filter.path)) return [];
  const key = equalityKey(filter.value);
  return key === undefined ? [] : [{ path: filter.path, key }];
}

async function sortDocs(
  docs: readonly StoredDoc[],
  orders: readonly Order[],
  pause: () => Promise<void> | undefined,
): Promise<StoredDoc[]> {
  const terms = orders.map(({ path, descending }) => ({
    // Names compare without being put together.
    read: isName(path) ? undefined : createValueReader(path),
    sign: descending ? -1 : 1,
  }));
  interface Entry {
    readonly doc: StoredDoc;
    readonly keys: readonly Value[];
  }
  const entries: Entry[] = [];
  for (const doc of docs) {
    if (entries.length % 256 === 0) await pause();
    entries.push({ doc, keys: terms.map(({ read }) => read?.(doc) ?? null) });
  }
  const compare = (a: Entry, b: Entry): number => {
    for (let i = 0; i < terms.length; i++) {
      const order = terms[i]?.read ? compareValues(a.keys[i] ?? null, b.keys[i] ?? null) : compareDocs(a.doc, b.doc);
      if (order !== 0) return order * (terms[i]?.sign ?? 1);
    }
    return 0;
  };
  return (await sortInSlices(entries, compare, pause)).map(({ doc }) => doc);
}

/** Documents in the order of their names. */
function compareDocs(a: StoredDoc, b: StoredDoc): number {
  return a.collection === b.collection
    ? compareNames(a.id, b.id)
    : compareNames(getResourceName(a), getResourceName(b));
}
