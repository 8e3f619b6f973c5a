import { randomInt } from 'node:crypto';
import type protobuf from 'protobufjs';
import { NO_FIELDS, StrictReader, decodeDocument, root, toNumber, type Message } from './codec';
import { RpcError, invalid } from './errors';
import { assertDatabaseName, getDatabaseName, parseCollectionPath, parseFieldPath, type FieldPath } from './paths';
import { assertMicroseconds } from './value-rules';
import type { MapValue, Timestamp, Value } from './values';

/*
 * Requests and responses of google.firestore.v1. Requests are decoded to plain data, with the choices of the protocol as
 * unions.
 */

/** A condition on the stored document under which a write applies. */
export type Precondition = { readonly exists: boolean } | { readonly updateTime: Timestamp };

/** One transform of a field, applied after the fields of its write. */
export type Transform = { readonly path: FieldPath } & (
  | { readonly kind: 'serverTimestamp' }
  | { readonly kind: 'increment' | 'maximum' | 'minimum'; readonly operand: Value }
  | { readonly kind: 'arrayUnion' | 'arrayRemove'; readonly elements: Value[] }
);

/** One write of a commit. `name` is the document's full resource name. */
export type Write =
  | {
      readonly kind: 'update';
      readonly name: string;
      readonly fields: MapValue;
      /** The fields to set or, where `fields` lacks them, to remove; undefined replaces the document. */
      readonly mask: readonly FieldPath[] | undefined;
      readonly transforms: readonly Transform[];
      readonly precondition: Precondition | undefined;
    }
  | { readonly kind: 'delete'; readonly name: string; readonly precondition: Precondition | undefined };

/** How a new transaction is to run. `readTime` is in microseconds since 1970. */
export interface TransactionOptions {
  readonly readOnly: boolean;
  readonly readTime: number | undefined;
  /** The transaction that this one retries. */
  readonly retryOf: string | undefined;
}

/** Which version of the documents a read returns. `readTime` is in microseconds since 1970. */
export type Consistency =
  | { readonly kind: 'latest' }
  | { readonly kind: 'readTime'; readonly readTime: number }
  | { readonly kind: 'transaction'; readonly id: string }
  | { readonly kind: 'newTransaction'; readonly options: TransactionOptions };

/** A filter of a query. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'unary'; readonly path: FieldPath; readonly op: UnaryOperator }
  | { readonly kind: 'field'; readonly path: FieldPath; readonly op: Operator; readonly value: Value };

/** Operators that compare a field with a value. */
export type Operator =
  '<' | '<=' | '>' | '>=' | '==' | '!=' | 'array-contains' | 'in' | 'array-contains-any' | 'not-in';

/** Operators without an operand. */
export type UnaryOperator = 'isNaN' | 'isNull' | 'isNotNaN' | 'isNotNull';

/** One term of an order. */
export interface Order {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/** A position in an order, directly before or after the documents with these values. */
export interface Cursor {
  readonly values: readonly Value[];
  readonly before: boolean;
}

/** A query as sent, without the implicit terms of its order. `parent` is a resource name. */
export interface StructuredQuery {
  readonly parent: string;
  /** Undefined selects documents of every collection. */
  readonly collectionId: string | undefined;
  readonly allDescendants: boolean;
  readonly filter: Filter | undefined;
  readonly orderBy: readonly Order[];
  readonly startAt: Cursor | undefined;
  readonly endAt: Cursor | undefined;
  readonly offset: number;
  readonly limit: number | undefined;
  readonly select: readonly FieldPath[] | undefined;
}

/** One aggregation of an aggregation query. */
export type Aggregation = { readonly alias: string } & (
  | { readonly kind: 'count'; readonly upTo: number | undefined }
  | { readonly kind: 'sum' | 'avg'; readonly path: FieldPath }
);

type Mask = readonly FieldPath[] | undefined;

interface Page {
  parent: string;
  pageSize: number;
  pageToken: string;
}

/** The decoded requests, by operation. */
export interface Requests {
  ListDocuments: Page & {
    collectionId: string;
    orderBy: string;
    mask: Mask;
    showMissing: boolean;
    consistency: Consistency;
  };
  GetDocument: { database: string; name: string; mask: Mask; consistency: Consistency };
  CreateDocument: { database: string; write: Write; mask: Mask };
  UpdateDocument: { database: string; write: Write; mask: Mask };
  DeleteDocument: { database: string; write: Write };
  BatchGetDocuments: { database: string; documents: readonly string[]; mask: Mask; consistency: Consistency };
  BeginTransaction: { database: string; options: TransactionOptions };
  Commit: { database: string; writes: readonly Write[]; transaction: string | undefined };
  Rollback: { database: string; transaction: string };
  RunQuery: { query: StructuredQuery; consistency: Consistency };
  RunAggregationQuery: { query: StructuredQuery; aggregations: readonly Aggregation[]; consistency: Consistency };
  ListCollectionIds: Page;
  BatchWrite: { database: string; writes: readonly Write[] };
}

/** The operations that are served. Others return UNIMPLEMENTED. */
export type Rpc = keyof Requests;

const message = (value: unknown): Message | undefined => (value ?? undefined) as Message | undefined;
const list = (value: unknown): Message[] => value as Message[];
const text = (value: unknown): string => value as string;
/** A text; an empty one stands for none. */
const readText = (value: unknown): string | undefined => (value === '' ? undefined : (value as string | undefined));
const has = (value: Message, key: string): boolean => Object.hasOwn(value, key);

/** A time in microseconds since 1970, if there is one. */
function readMicros(value: unknown): number | undefined {
  const time = value as Timestamp | null | undefined;
  if (time) assertMicroseconds(time);
  return time?.micros;
}

function readDatabase(value: Message): string {
  const database = text(value['database']);
  assertDatabaseName(database);
  return database;
}

const readMask = (value: unknown): Mask => {
  const mask = message(value);
  return mask && (mask['fieldPaths'] as string[]).map(parseFieldPath);
};

/** A transaction id as text; an empty one stands for none. */
const readTransactionId = (value: unknown): string | undefined =>
  Buffer.from(value as Uint8Array).toString('base64') || undefined;

/** The bytes of a transaction id on the wire. */
export const encodeTransactionId = (id: string): Buffer => Buffer.from(id, 'base64');

function readConsistency(value: Message): Consistency {
  const start = message(value['newTransaction']);
  if (start) return { kind: 'newTransaction', options: readOptions(start) };
  const id = has(value, 'transaction') ? readTransactionId(value['transaction']) : undefined;
  if (id !== undefined) return { kind: 'transaction', id };
  const readTime = readMicros(value['readTime']);
  return readTime === undefined ? { kind: 'latest' } : { kind: 'readTime', readTime };
}

function readOptions(options: Message | undefined): TransactionOptions {
  const readOnly = message(options?.['readOnly']);
  const retryOf = message(options?.['readWrite'])?.['retryTransaction'];
  return {
    readOnly: readOnly !== undefined,
    readTime: readMicros(readOnly?.['readTime']),
    retryOf: retryOf ? readTransactionId(retryOf) : undefined,
  };
}

function readPrecondition(value: unknown): Precondition | undefined {
  const precondition = message(value);
  if (!precondition) return undefined;
  if (has(precondition, 'exists')) return { exists: Boolean(precondition['exists']) };
  const updateTime = precondition['updateTime'] as Timestamp | null;
  if (updateTime) assertMicroseconds(updateTime);
  return updateTime ? { updateTime } : undefined;
}

/** The only `ServerValue`. */
const REQUEST_TIME = 1;

function readTransform(value: Message): Transform {
  const path = parseFieldPath(text(value['fieldPath']));
  if (value['setToServerValue'] === REQUEST_TIME) return { path, kind: 'serverTimestamp' };
  for (const kind of ['increment', 'maximum', 'minimum'] as const) {
    if (has(value, kind)) return { path, kind, operand: value[kind] as Value };
  }
  if (has(value, 'appendMissingElements')) {
    return { path, kind: 'arrayUnion', elements: value['appendMissingElements'] as Value[] };
  }
  if (has(value, 'removeAllFromArray')) {
    return { path, kind: 'arrayRemove', elements: value['removeAllFromArray'] as Value[] };
  }
  throw invalid('A field transform has no type that is supported.');
}

function readTransforms(value: unknown): Transform[] {
  const transforms = list(value).map(readTransform);
  const paths = transforms.map(({ path }) => path);
  const isBelow = (path: FieldPath, parent: FieldPath): boolean =>
    path.length > parent.length && parent.every((step, i) => step === path[i]);
  if (paths.some((path) => paths.some((parent) => isBelow(path, parent)))) {
    throw invalid('Cannot transform a property and its nested property at the same time.');
  }
  return transforms;
}

function readWrite(value: Message): Write {
  const precondition = readPrecondition(value['currentDocument']);
  if (has(value, 'delete')) return { kind: 'delete', name: text(value['delete']), precondition };
  const transform = message(value['transform']);
  if (transform) {
    const transforms = readTransforms(transform['fieldTransforms']);
    return { kind: 'update', name: text(transform['document']), fields: new Map(), mask: [], transforms, precondition };
  }
  if (!has(value, 'update')) throw invalid('A write has no operation that is supported.');
  return {
    kind: 'update',
    ...decodeDocument(value['update'] as Uint8Array),
    mask: readMask(value['updateMask']),
    transforms: readTransforms(value['updateTransforms']),
    precondition,
  };
}

/** By their numbers in the protocol, from 1. */
const OPERATORS: readonly Operator[] = [
  ...(['<', '<=', '>', '>=', '==', '!='] as const),
  ...(['array-contains', 'in', 'array-contains-any', 'not-in'] as const),
];

/** By their numbers in the protocol, from 2. */
const UNARY_OPERATORS: readonly UnaryOperator[] = ['isNaN', 'isNull', 'isNotNaN', 'isNotNull'];

const readField = (value: unknown): FieldPath => parseFieldPath(text(message(value)?.['fieldPath'] ?? ''));

function readFilter(value: Message): Filter {
  const composite = message(value['compositeFilter']);
  if (composite) {
    if (!composite['op']) throw invalid('Unsupported CompositeFilter operator.');
    const kind = composite['op'] === 2 ? 'or' : 'and';
    return { kind, filters: list(composite['filters']).map(readFilter) };
  }
  const unary = message(value['unaryFilter']);
  if (unary) {
    const op = UNARY_OPERATORS[(unary['op'] as number) - 2];
    if (!op) throw invalid('A unary filter has no operator.');
    return { kind: 'unary', path: readField(unary['field']), op };
  }
  const field = message(value['fieldFilter']);
  const op = OPERATORS[((field?.['op'] ?? 0) as number) - 1];
  if (!field || !op) throw invalid('A filter has no operator.');
  if (!has(field, 'value')) throw invalid('A filter has no value.');
  return { kind: 'field', path: readField(field['field']), op, value: field['value'] as Value };
}

function readCursor(value: unknown): Cursor | undefined {
  const cursor = message(value);
  return cursor && { values: cursor['values'] as Value[], before: Boolean(cursor['before']) };
}

function readQuery(parent: unknown, value: unknown): StructuredQuery {
  const query = message(value);
  if (!query) throw invalid('The query is missing.');
  const from = list(query['from']);
  if (from.length > 1) throw invalid('A query reads from one collection only.');
  if (message(query['findNearest'])) throw invalid('Vector queries are not supported.');
  const limit = message(query['limit']);
  const where = message(query['where']);
  const select = message(query['select']);
  return {
    parent: text(parent),
    collectionId: readText(from[0]?.['collectionId']),
    allDescendants: from[0] ? Boolean(from[0]['allDescendants']) : true,
    filter: where && readFilter(where),
    orderBy: list(query['orderBy']).map((order) => ({
      path: readField(order['field']),
      descending: order['direction'] === 2,
    })),
    startAt: readCursor(query['startAt']),
    endAt: readCursor(query['endAt']),
    offset: toNumber(query['offset']),
    limit: limit && toNumber(limit['value']),
    select: select && list(select['fields']).map((field) => parseFieldPath(text(field['fieldPath']))),
  };
}

/** https://firebase.google.com/docs/firestore/quotas: aggregations in one query. */
const MAX_AGGREGATIONS = 5;
const MAX_ALIAS_BYTES = 1500;

function readAggregations(values: readonly Message[]): Aggregation[] {
  if (values.length === 0) throw invalid('Aggregations can not be empty.');
  if (values.length > MAX_AGGREGATIONS) {
    throw invalid(
      `The maximum number of aggregations allowed in an aggregation query is ${MAX_AGGREGATIONS}. Received: ${values.length}`,
    );
  }
  let unnamed = 0;
  const aggregations = values.map((value) => readAggregation(value, text(value['alias']) || `field_${++unnamed}`));
  if (new Set(aggregations.map(({ alias }) => alias)).size < values.length) {
    throw invalid('Aggregation aliases contain duplicate alias.');
  }
  return aggregations;
}

function readAggregation(value: Message, alias: string): Aggregation {
  if (/^__.*__$/s.test(alias)) throw invalid(`The alias "${alias}" is reserved.`);
  if (Buffer.byteLength(alias) > MAX_ALIAS_BYTES) throw invalid(`The alias is longer than ${MAX_ALIAS_BYTES} bytes.`);
  const count = message(value['count']);
  if (count) {
    const upTo = message(count['upTo']);
    const limit = upTo && toNumber(upTo['value']);
    if (limit !== undefined && limit < 0) throw invalid('The `up_to` value of a count must not be negative.');
    return { alias, kind: 'count', upTo: limit };
  }
  const kind = message(value['sum']) ? 'sum' : 'avg';
  const operand = message(value[kind]);
  if (!operand) throw invalid('An aggregation has no operator.');
  return { alias, kind, path: readField(operand['field']) };
}

function readDocumentWrite(
  value: Message,
  name: string,
  fields: MapValue,
  { precondition, mask }: { precondition: Precondition | undefined; mask?: Mask },
): Requests['UpdateDocument'] {
  const write: Write = { kind: 'update', name, fields, mask, transforms: [], precondition };
  return { database: getDatabaseName(name), write, mask: readMask(value['mask']) };
}

const ID_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An id of 20 characters, as the SDKs make them. */
const createId = (): string =>
  Array.from({ length: 20 }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('');

const readPage = (value: Message): Page => ({
  parent: text(value['parent']),
  pageSize: toNumber(value['pageSize']),
  pageToken: text(value['pageToken']),
});

const readers: { readonly [K in Rpc]: (value: Message) => Requests[K] } = {
  ListDocuments: (value) => ({
    ...readPage(value),
    collectionId: text(value['collectionId']),
    orderBy: text(value['orderBy']),
    mask: readMask(value['mask']),
    showMissing: Boolean(value['showMissing']),
    consistency: readConsistency(value),
  }),
  GetDocument: (value) => ({
    database: getDatabaseName(text(value['name'])),
    name: text(value['name']),
    mask: readMask(value['mask']),
    consistency: readConsistency(value),
  }),
  CreateDocument: (value) => {
    const { name, fields } = decodeDocument((value['document'] ?? NO_FIELDS) as Uint8Array);
    if (name !== '') throw invalid('document.name must not be set');
    const collection = parseCollectionPath(text(value['parent']), text(value['collectionId']));
    const id = text(value['documentId']) || createId();
    return readDocumentWrite(value, `${collection}/${id}`, fields, { precondition: { exists: false } });
  },
  UpdateDocument: (value) => {
    const { name, fields } = decodeDocument((value['document'] ?? NO_FIELDS) as Uint8Array);
    const precondition = readPrecondition(value['currentDocument']);
    return readDocumentWrite(value, name, fields, { precondition, mask: readMask(value['updateMask']) });
  },
  DeleteDocument: (value) => {
    const name = text(value['name']);
    const precondition = readPrecondition(value['currentDocument']);
    return { database: getDatabaseName(name), write: { kind: 'delete', name, precondition } };
  },
  BatchGetDocuments: (value) => ({
    database: readDatabase(value),
    documents: value['documents'] as string[],
    mask: readMask(value['mask']),
    consistency: readConsistency(value),
  }),
  BeginTransaction: (value) => ({ database: readDatabase(value), options: readOptions(message(value['options'])) }),
  Commit: (value) => ({
    database: readDatabase(value),
    writes: list(value['writes']).map(readWrite),
    transaction: readTransactionId(value['transaction']),
  }),
  Rollback: (value) => ({
    database: readDatabase(value),
    transaction: readTransactionId(value['transaction']) ?? '',
  }),
  RunQuery: (value) => ({
    query: readQuery(value['parent'], value['structuredQuery']),
    consistency: readConsistency(value),
  }),
  RunAggregationQuery: (value) => {
    const query = message(value['structuredAggregationQuery']);
    return {
      query: readQuery(value['parent'], query?.['structuredQuery']),
      aggregations: readAggregations(list(query?.['aggregations'] ?? [])),
      consistency: readConsistency(value),
    };
  },
  ListCollectionIds: readPage,
  BatchWrite: (value) => ({ database: readDatabase(value), writes: list(value['writes']).map(readWrite) }),
};

/** All operations that are served. */
export const RPCS = Object.keys(readers) as readonly Rpc[];

const service = root.lookupService('google.firestore.v1.Firestore');

function getMethod(rpc: Rpc): { requestType: protobuf.Type; responseType: protobuf.Type } {
  const method = service.methods[rpc];
  method?.resolve();
  if (!method?.resolvedRequestType || !method.resolvedResponseType) throw new Error(`${rpc} is not defined.`);
  return { requestType: method.resolvedRequestType, responseType: method.resolvedResponseType };
}

/** @throws RpcError INVALID_ARGUMENT for bytes that are not a valid request */
export function decodeRequest<K extends Rpc>(rpc: K, bytes: Buffer): Requests[K] {
  try {
    return readers[rpc](getMethod(rpc).requestType.decode(new StrictReader(bytes)) as unknown as Message);
  } catch (error) {
    throw error instanceof RpcError ? error : invalid(`Malformed ${rpc} request: ${String(error)}`);
  }
}

/** Encodes a response, in which documents are encoded already and values are plain. A document alone is the response. */
export const encodeResponse = (rpc: Rpc, response: object): Buffer =>
  Buffer.isBuffer(response) ? response : (getMethod(rpc).responseType.encode(response).finish() as Buffer);
