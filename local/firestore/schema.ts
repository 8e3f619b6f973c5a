import protos from '@google-cloud/firestore/build/protos/v1.json';
import protobuf from 'protobufjs';
import { decodeArray, decodeDocument, decodeValue } from './codec';
import { invalid } from './errors';
import { parseFieldPath, type FieldPath } from './paths';
import { Timestamp, type MapValue, type Value } from './values';

/*
 * The messages of google.firestore.v1, from the definitions that @google-cloud/firestore ships. In them `Value`,
 * `ArrayValue` and `Document` become plain bytes, which have the same wire form: the envelope is protobufjs's work,
 * the contents are codec.ts's. What comes out is plain data with the choices of the protocol as unions.
 */

/** The operations that are served; the others answer UNIMPLEMENTED. */
export type Rpc =
  | 'GetDocument'
  | 'ListDocuments'
  | 'BatchGetDocuments'
  | 'BeginTransaction'
  | 'Commit'
  | 'Rollback'
  | 'RunQuery'
  | 'RunAggregationQuery'
  | 'ListCollectionIds'
  | 'BatchWrite';

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
  | { readonly kind: 'delete' | 'verify'; readonly name: string; readonly precondition: Precondition | undefined };

/** What a read takes place in. */
export type Consistency =
  | { readonly kind: 'latest' }
  | { readonly kind: 'transaction'; readonly id: string }
  | { readonly kind: 'newTransaction'; readonly readOnly: boolean; readonly retryOf: string | undefined };

/** A filter of a query. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly filters: readonly Filter[] }
  | { readonly kind: 'unary'; readonly path: FieldPath; readonly op: UnaryOperator }
  | { readonly kind: 'field'; readonly path: FieldPath; readonly op: Operator; readonly value: Value };

/** The operators that compare a field with a value. */
export type Operator =
  '<' | '<=' | '>' | '>=' | '==' | '!=' | 'array-contains' | 'in' | 'array-contains-any' | 'not-in';

/** The operators that look at a field alone. */
export type UnaryOperator = 'isNaN' | 'isNull' | 'isNotNaN' | 'isNotNull';

/** One term of an order. */
export interface Order {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/** A point in an order, just before or just after the documents with these values. */
export interface Cursor {
  readonly values: readonly Value[];
  readonly before: boolean;
}

/** A query as it was sent: without the implicit terms of its order. `parent` is a resource name. */
export interface StructuredQuery {
  readonly parent: string;
  /** Undefined asks for documents of every collection. */
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

/** One figure of an aggregation. */
export type Aggregation = { readonly alias: string } & (
  | { readonly kind: 'count'; readonly upTo: number | undefined }
  | { readonly kind: 'sum' | 'avg'; readonly path: FieldPath }
);

type Mask = readonly FieldPath[] | undefined;

/** The decoded requests, by operation. */
export interface Requests {
  GetDocument: { name: string; mask: Mask; consistency: Consistency };
  ListDocuments: {
    parent: string;
    collectionId: string;
    pageSize: number;
    pageToken: string;
    mask: Mask;
    showMissing: boolean;
    consistency: Consistency;
  };
  BatchGetDocuments: { database: string; documents: readonly string[]; mask: Mask; consistency: Consistency };
  BeginTransaction: { database: string; readOnly: boolean; retryOf: string | undefined };
  Commit: { database: string; writes: readonly Write[]; transaction: string | undefined };
  Rollback: { database: string; transaction: string };
  RunQuery: { query: StructuredQuery; consistency: Consistency };
  RunAggregationQuery: {
    query: StructuredQuery;
    aggregations: readonly Aggregation[];
    consistency: Consistency;
  };
  ListCollectionIds: { parent: string; pageSize: number; pageToken: string };
  BatchWrite: { database: string; writes: readonly Write[] };
}

const root = protobuf.Root.fromJSON(withOpaqueContents(protos));

/** Replaces the messages that codec.ts reads by bytes, and adds `verify`, which the shipped definitions leave out. */
function withOpaqueContents(definitions: object): protobuf.INamespace {
  const opaque = new Set(['Value', 'ArrayValue', 'Document']);
  const patched = JSON.parse(
    JSON.stringify(definitions, (key, value: unknown) =>
      key === 'type' && typeof value === 'string' && opaque.has(value) ? 'bytes' : value,
    ),
  ) as Definitions;
  const { Write } = patched.nested.google.nested.firestore.nested.v1.nested;
  Write.oneofs.operation.oneof.push('verify');
  Write.fields['verify'] = { type: 'string', id: 5 };
  return patched;
}

type Nested<K extends string, T> = protobuf.INamespace & { nested: Record<K, T> };
type Definitions = Nested<'google', Nested<'firestore', Nested<'v1', Nested<'Write', WriteType>>>>;

interface WriteType extends protobuf.IType {
  oneofs: { operation: { oneof: string[] } };
  fields: Record<string, protobuf.IField>;
}

const service = root.lookupService('google.firestore.v1.Firestore');

/** A decoded message. protobufjs gives absent fields their defaults: '', 0, false, [] or null. */
type Message = Record<string, unknown>;

const message = (value: unknown): Message | undefined => (value ?? undefined) as Message | undefined;
const list = (value: unknown): Message[] => value as Message[];
const text = (value: unknown): string => value as string;
const bytes = (value: unknown): Uint8Array => value as Uint8Array;
const integer = (value: unknown): number => Number(String(value));
const has = (value: Message, key: string): boolean => Object.hasOwn(value, key);

const readTimestamp = (value: Message): Timestamp =>
  new Timestamp(integer(value['seconds']), integer(value['nanos']) - (integer(value['nanos']) % 1000));

const readMask = (value: unknown): Mask => {
  const mask = message(value);
  return mask && (mask['fieldPaths'] as string[]).map(parseFieldPath);
};

const transactionId = (value: unknown): string => Buffer.from(bytes(value)).toString('base64');

/** The bytes that stand for a transaction id on the wire. */
export const transactionBytes = (id: string): Buffer => Buffer.from(id, 'base64');

function readConsistency(value: Message): Consistency {
  const start = message(value['newTransaction']);
  if (start) return { kind: 'newTransaction', ...readOptions(start) };
  if (has(value, 'transaction') && bytes(value['transaction']).length > 0) {
    return { kind: 'transaction', id: transactionId(value['transaction']) };
  }
  // A read time is taken as now: no past version of a document is kept.
  return { kind: 'latest' };
}

function readOptions(options: Message | undefined): { readOnly: boolean; retryOf: string | undefined } {
  const retry = message(options?.['readWrite'])?.['retryTransaction'];
  const retryOf = retry && bytes(retry).length > 0 ? transactionId(retry) : undefined;
  return { readOnly: Boolean(message(options?.['readOnly'])), retryOf };
}

function readPrecondition(value: unknown): Precondition | undefined {
  const precondition = message(value);
  if (!precondition) return undefined;
  if (has(precondition, 'exists')) return { exists: Boolean(precondition['exists']) };
  const updateTime = message(precondition['updateTime']);
  return updateTime && { updateTime: readTimestamp(updateTime) };
}

function readTransform(value: Message): Transform {
  const path = parseFieldPath(text(value['fieldPath']));
  const operand = (key: string): Value => decodeValue(bytes(value[key]));
  const elements = (key: string): Value[] => decodeArray(bytes(value[key]));
  if (has(value, 'setToServerValue')) return { path, kind: 'serverTimestamp' };
  if (has(value, 'increment')) return { path, kind: 'increment', operand: operand('increment') };
  if (has(value, 'maximum')) return { path, kind: 'maximum', operand: operand('maximum') };
  if (has(value, 'minimum')) return { path, kind: 'minimum', operand: operand('minimum') };
  if (has(value, 'appendMissingElements')) {
    return { path, kind: 'arrayUnion', elements: elements('appendMissingElements') };
  }
  if (has(value, 'removeAllFromArray')) return { path, kind: 'arrayRemove', elements: elements('removeAllFromArray') };
  throw invalid('A field transform has no type.');
}

function readWrite(value: Message): Write {
  const precondition = readPrecondition(value['currentDocument']);
  if (has(value, 'update')) {
    return {
      kind: 'update',
      ...decodeDocument(bytes(value['update'])),
      mask: readMask(value['updateMask']),
      transforms: list(value['updateTransforms']).map(readTransform),
      precondition,
    };
  }
  if (has(value, 'delete')) return { kind: 'delete', name: text(value['delete']), precondition };
  if (has(value, 'verify')) return { kind: 'verify', name: text(value['verify']), precondition };
  const transform = message(value['transform']);
  if (!transform) throw invalid('A write has no operation.');
  // The older form of a transform: a write that changes no field of its own.
  const transforms = list(transform['fieldTransforms']).map(readTransform);
  return { kind: 'update', name: text(transform['document']), fields: new Map(), mask: [], transforms, precondition };
}

const OPERATORS: readonly (Operator | undefined)[] = [
  undefined,
  '<',
  '<=',
  '>',
  '>=',
  '==',
  '!=',
  'array-contains',
  'in',
  'array-contains-any',
  'not-in',
];
const UNARY_OPERATORS: readonly (UnaryOperator | undefined)[] = [
  undefined,
  undefined,
  'isNaN',
  'isNull',
  'isNotNaN',
  'isNotNull',
];

const readField = (value: unknown): FieldPath => parseFieldPath(text(message(value)?.['fieldPath'] ?? ''));

function readFilter(value: Message): Filter {
  const composite = message(value['compositeFilter']);
  if (composite) {
    const kind = composite['op'] === 2 ? 'or' : 'and';
    return { kind, filters: list(composite['filters']).map(readFilter) };
  }
  const unary = message(value['unaryFilter']);
  if (unary) {
    const op = UNARY_OPERATORS[unary['op'] as number];
    if (!op) throw invalid('A unary filter has no operator.');
    return { kind: 'unary', path: readField(unary['field']), op };
  }
  const field = message(value['fieldFilter']);
  const op = OPERATORS[(field?.['op'] ?? 0) as number];
  if (!field || !op) throw invalid('A filter has no operator.');
  return { kind: 'field', path: readField(field['field']), op, value: decodeValue(bytes(field['value'])) };
}

function readCursor(value: unknown): Cursor | undefined {
  const cursor = message(value);
  return cursor && { values: (cursor['values'] as Uint8Array[]).map(decodeValue), before: Boolean(cursor['before']) };
}

function readQuery(parent: unknown, value: unknown): StructuredQuery {
  const query = message(value);
  if (!query) throw invalid('The query is missing.');
  const from = list(query['from']);
  if (from.length > 1) throw invalid('A query reads from one collection.');
  if (message(query['findNearest'])) throw invalid('Vector queries are not served here.');
  const limit = message(query['limit']);
  const where = message(query['where']);
  const select = message(query['select']);
  return {
    parent: text(parent),
    collectionId: from[0] && has(from[0], 'collectionId') ? text(from[0]['collectionId']) : undefined,
    allDescendants: from[0] ? Boolean(from[0]['allDescendants']) : true,
    filter: where && readFilter(where),
    orderBy: list(query['orderBy']).map((order) => ({
      path: readField(order['field']),
      descending: order['direction'] === 2,
    })),
    startAt: readCursor(query['startAt']),
    endAt: readCursor(query['endAt']),
    offset: integer(query['offset']),
    limit: limit && integer(limit['value']),
    select: select && list(select['fields']).map((field) => parseFieldPath(text(field['fieldPath']))),
  };
}

function readAggregation(value: Message, index: number): Aggregation {
  const alias = text(value['alias']) || `field_${index + 1}`;
  const count = message(value['count']);
  if (count) {
    const upTo = message(count['upTo']);
    return { alias, kind: 'count', upTo: upTo && integer(upTo['value']) };
  }
  const kind = message(value['sum']) ? 'sum' : 'avg';
  const figure = message(value[kind]);
  if (!figure) throw invalid('An aggregation has no operator.');
  return { alias, kind, path: readField(figure['field']) };
}

const readers: { readonly [K in Rpc]: (value: Message) => Requests[K] } = {
  GetDocument: (value) => ({
    name: text(value['name']),
    mask: readMask(value['mask']),
    consistency: readConsistency(value),
  }),
  ListDocuments: (value) => ({
    parent: text(value['parent']),
    collectionId: text(value['collectionId']),
    pageSize: integer(value['pageSize']),
    pageToken: text(value['pageToken']),
    mask: readMask(value['mask']),
    showMissing: Boolean(value['showMissing']),
    consistency: readConsistency(value),
  }),
  BatchGetDocuments: (value) => ({
    database: text(value['database']),
    documents: value['documents'] as string[],
    mask: readMask(value['mask']),
    consistency: readConsistency(value),
  }),
  BeginTransaction: (value) => ({
    database: text(value['database']),
    ...readOptions(message(value['options'])),
  }),
  Commit: (value) => ({
    database: text(value['database']),
    writes: list(value['writes']).map(readWrite),
    transaction: bytes(value['transaction']).length > 0 ? transactionId(value['transaction']) : undefined,
  }),
  Rollback: (value) => ({ database: text(value['database']), transaction: transactionId(value['transaction']) }),
  RunQuery: (value) => ({
    query: readQuery(value['parent'], value['structuredQuery']),
    consistency: readConsistency(value),
  }),
  RunAggregationQuery: (value) => {
    const query = message(value['structuredAggregationQuery']);
    return {
      query: readQuery(value['parent'], query?.['structuredQuery']),
      aggregations: list(query?.['aggregations'] ?? []).map(readAggregation),
      consistency: readConsistency(value),
    };
  },
  ListCollectionIds: (value) => ({
    parent: text(value['parent']),
    pageSize: integer(value['pageSize']),
    pageToken: text(value['pageToken']),
  }),
  BatchWrite: (value) => ({ database: text(value['database']), writes: list(value['writes']).map(readWrite) }),
};

/** All operations that are served. */
export const RPCS = Object.keys(readers) as readonly Rpc[];

const types = new Map(
  RPCS.map((rpc) => {
    const method = service.methods[rpc];
    method?.resolve();
    if (!method?.resolvedRequestType || !method.resolvedResponseType) throw new Error(`no definition of ${rpc}`);
    return [rpc, { request: method.resolvedRequestType, response: method.resolvedResponseType }] as const;
  }),
);

const typesOf = (rpc: Rpc): { request: protobuf.Type; response: protobuf.Type } => {
  const found = types.get(rpc);
  if (!found) throw new Error(`no definition of ${rpc}`);
  return found;
};

/** Decodes a request; one that cannot be is INVALID_ARGUMENT. */
export function decodeRequest<K extends Rpc>(rpc: K, bytes: Buffer): Requests[K] {
  let decoded: Message;
  try {
    decoded = typesOf(rpc).request.decode(bytes) as unknown as Message;
  } catch (error) {
    throw invalid(`Malformed ${rpc} request: ${String(error)}`);
  }
  return readers[rpc](decoded);
}

/** Encodes a response. Documents and values in it are bytes already; a Timestamp has the form of its message. */
export function encodeResponse(rpc: Rpc, response: object): Buffer {
  const { response: type } = typesOf(rpc);
  return type.encode(response).finish() as Buffer;
}
