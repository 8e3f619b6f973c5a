import { decodeFields, encodeFields, NO_FIELDS } from './codec';
import type { StoredDoc } from './collections';
import { RpcError, invalid } from './errors';
import type { Indexes } from './indexes';
import { getCollectionGroup, type DocumentPath, type FieldPath } from './paths';
import type { Transform, Write } from './schema';
import { assertValue } from './value-rules';
import {
  Timestamp,
  cloneMap,
  equalValues,
  getFieldsSize,
  getPath,
  isNumber,
  getNameSize,
  setPath,
  type MapValue,
  type Value,
} from './values';

/** https://firebase.google.com/docs/firestore/quotas#limits */
const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_INDEX_ENTRIES = 40_000;
const MAX_DEPTH = 20;
const MAX_FIELD_NAME_BYTES = 1500;
const MAX_PROPERTY_BYTES = 1_048_487;

/** The document after a write, and what the client gets. */
export interface WriteResult {
  /** The new version; the same object as before if nothing changed, undefined if it does not exist. */
  readonly doc: StoredDoc | undefined;
  readonly updateTime: number | undefined;
  readonly transformResults: readonly Value[];
}

/**
 * Computes the result of one write at a time in microseconds. Stores nothing.
 *
 * @throws RpcError for a failed precondition, an exceeded limit, or an operand of the wrong type
 */
export function applyWrite(
  write: Write,
  path: DocumentPath,
  current: StoredDoc | undefined,
  time: number,
  indexes: Indexes,
): WriteResult {
  assertPrecondition(write, current);
  switch (write.kind) {
    case 'delete':
      return { doc: undefined, updateTime: undefined, transformResults: [] };
    case 'update': {
      const fields = mergeFields(write, current);
      const transformResults = write.transforms.map((transform) => applyTransform(fields, transform, time));
      const bytes = encodeFields(fields);
      // A write that changes nothing keeps the update time.
      const unchanged = current && bytes.equals(current.fields);
      if (!unchanged) assertLimits(path, fields, bytes, indexes);
      const doc = unchanged
        ? current
        : {
            collection: current?.collection ?? path.collection,
            id: path.id,
            fields: bytes,
            createTime: current?.createTime ?? time,
            updateTime: time,
            row: 0,
          };
      return { doc, updateTime: doc.updateTime, transformResults };
    }
  }
}

/**
 * Checks what a client sent, also where a mask leaves it out, before anything that is stored matters.
 *
 * @throws RpcError INVALID_ARGUMENT for a field or a value that no document can have
 */
export function assertWrite(write: Write): void {
  if (write.kind === 'delete') return;
  const { fields, mask, transforms } = write;
  assertMap(fields, 1, 0);
  for (const value of mask ? mask.map((path) => getPath(fields, path)) : [fields]) assertNamed(value);
  for (const transform of transforms) {
    transform.path.forEach(assertFieldName);
    if ('elements' in transform) assertNesting([...transform.elements], 1, 0);
  }
}

/** A field has a name, unless a mask leaves it out. */
function assertNamed(value: Value | undefined): void {
  if (Array.isArray(value)) value.forEach(assertNamed);
  if (!(value instanceof Map)) return;
  if (value.has('')) throw invalid('Document fields must not be empty.');
  value.forEach(assertNamed);
}

function assertPrecondition({ precondition, name }: Write, current: StoredDoc | undefined): void {
  if (!precondition) return;
  if ('exists' in precondition) {
    if (precondition.exists && !current) throw new RpcError('NOT_FOUND', `No document to update: ${name}`);
    if (!precondition.exists && current) throw new RpcError('ALREADY_EXISTS', `Document already exists: ${name}`);
    return;
  }
  const expected = precondition.updateTime.micros;
  const stored = current?.updateTime ?? 0;
  if (stored === expected) return;
  throw new RpcError(
    'FAILED_PRECONDITION',
    `the stored version (${stored}) does not match the required base version (${expected})`,
  );
}

function mergeFields(write: Extract<Write, { kind: 'update' }>, current: StoredDoc | undefined): MapValue {
  const { mask, fields } = write;
  if (!mask) return write.transforms.length > 0 ? cloneMap(fields) : fields;
  const merged = decodeFields(current?.fields ?? NO_FIELDS);
  const source = cloneMap(fields);
  for (const path of mask) setPath(merged, path, getPath(source, path));
  return merged;
}

/** Applies a transform in place. Returns its result for the client: null for a transform of an array. */
function applyTransform(fields: MapValue, transform: Transform, time: number): Value {
  const value = transformValue(getPath(fields, transform.path), transform, time);
  setPath(fields, transform.path, value);
  return Array.isArray(value) ? null : value;
}

function transformValue(stored: Value | undefined, transform: Transform, time: number): Value {
  const items = Array.isArray(stored) ? stored : [];
  switch (transform.kind) {
    case 'serverTimestamp':
      // The request time has millisecond precision.
      return Timestamp.fromMicros(time - (time % 1000));
    case 'increment':
      if (!isNumber(transform.operand)) throw invalid('The operand of an increment is not a number.');
      return isNumber(stored) ? addNumbers(stored, transform.operand) : transform.operand;
    case 'maximum':
    case 'minimum':
      if (!isNumber(transform.operand)) throw invalid(`The operand of a ${transform.kind} is not a number.`);
      return isNumber(stored) ? selectNumber(stored, transform.operand, transform.kind) : transform.operand;
    case 'arrayUnion': {
      const union = [...items];
      for (const element of transform.elements) {
        if (!union.some((item) => equalValues(item, element))) union.push(element);
      }
      return union;
    }
    case 'arrayRemove':
      return items.filter((item) => !transform.elements.some((element) => equalValues(item, element)));
  }
}

/** The greater or the lesser number. The stored one stays if both are equal, and NaN is both greatest and least. */
function selectNumber(stored: bigint | number, operand: bigint | number, kind: 'maximum' | 'minimum'): bigint | number {
  if (Number.isNaN(stored) || Number.isNaN(operand)) return NaN;
  const isOperand = kind === 'maximum' ? operand > stored : operand < stored;
  return isOperand ? operand : stored;
}

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** Adds integers, limited to 64 bits, as an integer; anything else as doubles. */
function addNumbers(a: bigint | number, b: bigint | number): bigint | number {
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return Number(a) + Number(b);
  const sum = a + b;
  return sum > MAX_INT64 ? MAX_INT64 : sum < MIN_INT64 ? MIN_INT64 : sum;
}

function assertLimits(path: DocumentPath, fields: MapValue, bytes: Buffer, indexes: Indexes): void {
  const size = getNameSize(path.name) + getFieldsSize(fields) + 32;
  if (size > MAX_DOCUMENT_BYTES) {
    const format = (value: number): string => value.toLocaleString('en-US');
    throw invalid(
      `Document "${path.name}" cannot be written because its size (${format(size)} bytes) exceeds the maximum allowed ` +
        `size of ${format(MAX_DOCUMENT_BYTES)} bytes.`,
    );
  }
  // A field takes at least nine bytes and an element four, so small documents need no count.
  if (
    bytes.length > MAX_INDEX_ENTRIES / 4 &&
    indexes.countEntries(getCollectionGroup(path.collection), fields) > MAX_INDEX_ENTRIES
  ) {
    throw invalid('too many index entries for entity');
  }
}

/** Checks the fields of a map, whose own path in the document has so many bytes. */
function assertMap(map: MapValue, depth: number, pathBytes: number): void {
  for (const [key, value] of map) {
    assertFieldName(key);
    const bytes = pathBytes + Buffer.byteLength(key);
    if (bytes > MAX_FIELD_NAME_BYTES)
      throw invalid(`The path of a field is longer than ${MAX_FIELD_NAME_BYTES} bytes.`);
    assertPropertySize(value);
    assertNesting(value, depth, bytes + 1);
  }
}

/** A single text or bytes has a limit of its own, below that of the document. */
function assertPropertySize(value: Value): void {
  const isLong = typeof value === 'string' ? value.length > MAX_PROPERTY_BYTES / 3 : value instanceof Uint8Array;
  if (isLong && Buffer.byteLength(value as string | Uint8Array) > MAX_PROPERTY_BYTES) {
    throw invalid(`The value of a property is longer than ${MAX_PROPERTY_BYTES} bytes.`);
  }
}

function assertFieldName(key: string): void {
  if (/^__.*__$/s.test(key)) throw invalid(`Document fields cannot begin and end with "__": ${key}`);
  if (key.length > MAX_FIELD_NAME_BYTES / 3 && Buffer.byteLength(key) > MAX_FIELD_NAME_BYTES) {
    throw invalid(`The property name "${key.slice(0, 40)}…" is longer than ${MAX_FIELD_NAME_BYTES} bytes.`);
  }
}

function assertNesting(value: Value, depth: number, pathBytes: number): void {
  if (!(value instanceof Map) && !Array.isArray(value)) {
    assertValue(value);
    return;
  }
  if (depth > MAX_DEPTH) throw invalid(`A value is nested deeper than ${MAX_DEPTH} levels.`);
  if (value instanceof Map) {
    assertMap(value, depth + 1, pathBytes);
    return;
  }
  for (const item of value) {
    if (Array.isArray(item)) throw invalid('Cannot convert an array value in an array value.');
    assertPropertySize(item);
    assertNesting(item, depth + 1, pathBytes);
  }
}

/** Keeps only the named fields, for a read with a mask or a projection. */
export function projectFields(fields: Buffer, paths: readonly FieldPath[]): Buffer {
  if (paths.length === 0) return NO_FIELDS;
  const all = decodeFields(fields);
  const kept: MapValue = new Map();
  for (const path of paths) {
    const value = getPath(all, path);
    if (value !== undefined) setPath(kept, path, value);
  }
  return encodeFields(kept);
}
