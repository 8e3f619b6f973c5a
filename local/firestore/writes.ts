import { decodeFields, encodeFields, NO_FIELDS } from './codec';
import type { StoredDoc } from './collections';
import { RpcError, invalid } from './errors';
import type { Indexes } from './indexes';
import { getCollectionGroup, type DocumentPath, type FieldPath } from './paths';
import type { Precondition, Transform, Write } from './schema';
import {
  Timestamp,
  cloneMap,
  compareValues,
  equalValues,
  fieldsSize,
  getPath,
  isNumber,
  nameSize,
  setPath,
  type MapValue,
  type Value,
} from './values';

/** https://firebase.google.com/docs/firestore/quotas#limits */
const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_INDEX_ENTRIES = 40_000;
const MAX_DEPTH = 20;
const MAX_FIELD_NAME_BYTES = 1500;

/** What a write makes of a document, and what its client is told. */
export interface WriteResult {
  /** The document from now on; the same object as before when the write changed nothing, undefined when there is none. */
  readonly doc: StoredDoc | undefined;
  readonly updateTime: number | undefined;
  readonly transformResults: readonly Value[];
}

/**
 * Applies one write to the document as it stands, at a time in microseconds. Changes nothing itself.
 * Throws the status that Firestore answers: a failed precondition, a limit, an operand of the wrong type.
 */
export function applyWrite(
  write: Write,
  path: DocumentPath,
  current: StoredDoc | undefined,
  time: number,
  indexes: Indexes,
): WriteResult {
  checkPrecondition(write, current);
  switch (write.kind) {
    case 'verify':
      return { doc: current, updateTime: current?.updateTime, transformResults: [] };
    case 'delete':
      return { doc: undefined, updateTime: undefined, transformResults: [] };
    case 'update': {
      const fields = mergedFields(write, current);
      const transformResults = write.transforms.map((transform) => applyTransform(fields, transform, time));
      const bytes = encodeFields(fields);
      // A write that leaves the document as it was leaves its update time too.
      const unchanged = current && bytes.equals(current.fields);
      if (!unchanged) checkLimits(path, fields, bytes, indexes);
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

function checkPrecondition({ precondition, name }: Write, current: StoredDoc | undefined): void {
  if (!precondition) return;
  if ('exists' in precondition) {
    if (precondition.exists && !current) throw new RpcError('NOT_FOUND', `No document to update: ${name}`);
    if (!precondition.exists && current) throw new RpcError('ALREADY_EXISTS', `Document already exists: ${name}`);
    return;
  }
  checkUpdateTime(precondition, current);
}

function checkUpdateTime({ updateTime }: Extract<Precondition, { updateTime: Timestamp }>, current?: StoredDoc): void {
  const stored = current?.updateTime ?? 0;
  if (stored === updateTime.micros) return;
  throw new RpcError(
    'FAILED_PRECONDITION',
    `the stored version (${stored}) does not match the required base version (${updateTime.micros})`,
  );
}

function mergedFields(write: Extract<Write, { kind: 'update' }>, current: StoredDoc | undefined): MapValue {
  const { mask, fields } = write;
  if (!mask) return write.transforms.length > 0 ? cloneMap(fields) : fields;
  const merged = decodeFields(current?.fields ?? NO_FIELDS);
  const source = cloneMap(fields);
  for (const path of mask) setPath(merged, path, getPath(source, path));
  return merged;
}

/** Applies a transform in place and returns its result, which the client receives. */
function applyTransform(fields: MapValue, transform: Transform, time: number): Value {
  const stored = getPath(fields, transform.path);
  const { value, result } = transformed(stored, transform, time);
  setPath(fields, transform.path, value);
  return result;
}

function transformed(stored: Value | undefined, transform: Transform, time: number): { value: Value; result: Value } {
  switch (transform.kind) {
    case 'serverTimestamp': {
      // The request time has millisecond precision.
      const value = Timestamp.ofMicros(time - (time % 1000));
      return { value, result: value };
    }
    case 'increment': {
      const operand = numeric(transform.operand);
      const value = isNumber(stored) ? add(stored, operand) : operand;
      return { value, result: value };
    }
    case 'maximum':
    case 'minimum': {
      const operand = numeric(transform.operand);
      const sign = transform.kind === 'maximum' ? 1 : -1;
      const value = isNumber(stored) ? extreme(stored, operand, sign) : operand;
      return { value, result: value };
    }
    case 'arrayUnion': {
      const items = Array.isArray(stored) ? [...stored] : [];
      for (const element of transform.elements) {
        if (!items.some((item) => equalValues(item, element))) items.push(element);
      }
      return { value: items, result: null };
    }
    case 'arrayRemove': {
      const items = Array.isArray(stored) ? stored : [];
      const kept = items.filter((item) => !transform.elements.some((element) => equalValues(item, element)));
      return { value: kept, result: null };
    }
  }
}

function numeric(value: Value): bigint | number {
  if (!isNumber(value)) throw invalid('The operand of a numeric transform is not a number.');
  return value;
}

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** Integers add up to an integer that stops at the ends of 64 bits; anything else adds as doubles. */
export function add(a: bigint | number, b: bigint | number): bigint | number {
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return Number(a) + Number(b);
  const sum = a + b;
  return sum > MAX_INT64 ? MAX_INT64 : sum < MIN_INT64 ? MIN_INT64 : sum;
}

/** Equal numbers keep the stored one and its type; with NaN on either side the result is NaN. */
function extreme(stored: bigint | number, operand: bigint | number, sign: 1 | -1): bigint | number {
  if (Number.isNaN(stored) || Number.isNaN(operand)) return NaN;
  return compareValues(operand, stored) * sign > 0 ? operand : stored;
}

function checkLimits(path: DocumentPath, fields: MapValue, bytes: Buffer, indexes: Indexes): void {
  checkMap(fields, 1);
  const size = nameSize(path.name) + fieldsSize(fields) + 32;
  if (size > MAX_DOCUMENT_BYTES) {
    const figure = (value: number): string => value.toLocaleString('en-US');
    throw invalid(
      `Document "${path.name}" cannot be written because its size (${figure(size)} bytes) exceeds the maximum allowed ` +
        `size of ${figure(MAX_DOCUMENT_BYTES)} bytes.`,
    );
  }
  // A field takes nine bytes or more and an element four: small documents need no count.
  if (
    bytes.length > MAX_INDEX_ENTRIES / 4 &&
    indexes.countEntries(getCollectionGroup(path.collection), fields) > MAX_INDEX_ENTRIES
  ) {
    throw invalid('too many index entries for entity');
  }
}

function checkMap(map: MapValue, depth: number): void {
  for (const [key, value] of map) {
    checkFieldName(key);
    checkNesting(value, depth);
  }
}

function checkFieldName(key: string): void {
  if (key === '') throw invalid('Document fields must not be empty.');
  if (/^__.*__$/s.test(key)) throw invalid(`Document fields cannot begin and end with "__": ${key}`);
  if (key.length > MAX_FIELD_NAME_BYTES / 3 && Buffer.byteLength(key) > MAX_FIELD_NAME_BYTES) {
    throw invalid(`The property name "${key.slice(0, 40)}…" is longer than ${MAX_FIELD_NAME_BYTES} bytes.`);
  }
}

function checkNesting(value: Value, depth: number): void {
  if (!(value instanceof Map) && !Array.isArray(value)) return;
  if (depth > MAX_DEPTH) throw invalid(`A value is nested deeper than ${MAX_DEPTH} levels.`);
  if (value instanceof Map) {
    checkMap(value, depth + 1);
    return;
  }
  for (const item of value) {
    if (Array.isArray(item)) throw invalid('Cannot convert an array value in an array value.');
    checkNesting(item, depth + 1);
  }
}

/** Keeps only the named fields of a document, as a read with a mask or a projection does. */
export function project(fields: Buffer, paths: readonly FieldPath[]): Buffer {
  if (paths.length === 0) return NO_FIELDS;
  const all = decodeFields(fields);
  const kept: MapValue = new Map();
  for (const path of paths) {
    const value = getPath(all, path);
    if (value !== undefined) setPath(kept, path, value);
  }
  return encodeFields(kept);
}
