import type { Json, JsonObject } from './protocol';

/* Short forms of the protocol's messages. */

/** One call. sequence.ts lists what strings in its request can refer to. */
export interface Call {
  readonly rpc: string;
  readonly request: JsonObject;
}

/** The resource names of the root of a sequence's database, and of a document in another database. */
export const DOCUMENTS = '$db/documents';
export const OTHER = 'projects/other/databases/(default)/documents/a/1';

export const int = (value: number | string): JsonObject => ({ integerValue: String(value) });
export const double = (doubleValue: number | string): JsonObject => ({ doubleValue });
export const text = (stringValue: string): JsonObject => ({ stringValue });
export const long = (length: number): JsonObject => text('x'.repeat(length));
export const array = (...values: JsonObject[]): JsonObject => ({ arrayValue: { values } });
export const map = (fields: JsonObject): JsonObject => ({ mapValue: { fields } });
export const bytes = (length: number): JsonObject => ({ bytesValue: Buffer.alloc(length, 1).toString('base64') });
export const reference = (path: string): JsonObject => ({ referenceValue: `${DOCUMENTS}/${path}` });
export const time = (seconds: string, nanos = 0): JsonObject => ({ timestampValue: { seconds, nanos } });
export const NULL: JsonObject = { nullValue: 'NULL_VALUE' };
export const times = <T>(length: number, create: (i: number) => T): T[] => Array.from({ length }, (_, i) => create(i));

export const call = (rpc: string, request: JsonObject): Call => ({ rpc, request });
export const inDatabase = (rpc: string, request: JsonObject = {}): Call => call(rpc, { database: '$db', ...request });
export const commit = (...writes: JsonObject[]): Call => inDatabase('Commit', { writes });
export const update = (path: string, fields: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  update: { name: `${DOCUMENTS}/${path}`, fields },
  ...rest,
});
export const set = (path: string, fields: JsonObject = {}, rest: JsonObject = {}): Call =>
  commit(update(path, fields, rest));
export const remove = (path: string, rest: JsonObject = {}): JsonObject => ({
  delete: `${DOCUMENTS}/${path}`,
  ...rest,
});
export const mask = (...fieldPaths: string[]): JsonObject => ({ updateMask: { fieldPaths } });
export const exists = (value: boolean): JsonObject => ({ currentDocument: { exists: value } });
export const updated = (updateTime: Json): JsonObject => ({ currentDocument: { updateTime } });
export const read = (paths: readonly string[], rest: JsonObject = {}): Call =>
  inDatabase('BatchGetDocuments', { documents: paths.map((path) => `${DOCUMENTS}/${path}`), ...rest });
export const get = (...paths: string[]): Call => read(paths);

export const field = (fieldPath: string): JsonObject => ({ field: { fieldPath } });
export const where = (path: string, op: string, value: JsonObject): JsonObject => ({
  fieldFilter: { ...field(path), op, value },
});
export const every = (...filters: JsonObject[]): JsonObject => ({ compositeFilter: { op: 'AND', filters } });
export const order = (path: string, direction = 'ASCENDING'): JsonObject => ({ ...field(path), direction });
export const by = (...paths: string[]): JsonObject => ({ orderBy: paths.map((path) => order(path)) });
export const byDescending = (...paths: string[]): JsonObject => ({
  orderBy: paths.map((path) => order(path, 'DESCENDING')),
});
export const collection = (collectionId: string): JsonObject => ({ from: [{ collectionId }] });
export const group = (collectionId: string): JsonObject => ({ from: [{ collectionId, allDescendants: true }] });
export const select = (...paths: string[]): JsonObject => ({
  select: { fields: paths.map((fieldPath) => ({ fieldPath })) },
});
export const limit = (value: number): JsonObject => ({ limit: { value } });
export const query = (structuredQuery: JsonObject = {}, parent = DOCUMENTS): Call =>
  call('RunQuery', { parent, structuredQuery: { ...collection('a'), ...structuredQuery } });
export const count = (structuredQuery: JsonObject = {}, alias = ''): Call =>
  call('RunAggregationQuery', {
    parent: DOCUMENTS,
    structuredAggregationQuery: {
      structuredQuery: { ...collection('a'), ...structuredQuery },
      aggregations: [{ count: {}, alias }],
    },
  });

export const begin = (): Call => inDatabase('BeginTransaction', { options: { readWrite: {} } });
/** Puts a call into the transaction that an earlier call began. */
export const within = ({ rpc, request }: Call, transaction = '$tx:0'): Call => call(rpc, { ...request, transaction });
export const rollback = (): Call => within(inDatabase('Rollback'));
