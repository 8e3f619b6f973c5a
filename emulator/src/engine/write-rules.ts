import { invalid } from '../protocol/errors';
import type { Indexes } from './indexes';
import { getCollectionGroup, type DocumentPath } from '../protocol/paths';
import type { Write } from '../protocol/requests';
import { assertValue } from '../protocol/value-rules';
import { getFieldsSize, getNameSize, type MapValue, type Value } from '../protocol/values';

/*
 * Refuses writes that Firestore refuses regardless of the stored data, and documents that it refuses to store.
 * https://firebase.google.com/docs/firestore/quotas#limits
 */

const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_INDEX_ENTRIES = 40_000;
const MAX_DEPTH = 20;
const MAX_FIELD_NAME_BYTES = 1500;
const MAX_PROPERTY_BYTES = 1_048_487;

/**
 * Checks the fields that a client sent, including those that a mask leaves out.
 *
 * @throws RpcError INVALID_ARGUMENT for a field or a value that no document can have
 */
export function assertWrite(write: Write): void {
  if (write.kind === 'delete') return;
  assertMap(write.fields, 1);
}

/**
 * A document of at most this many encoded bytes is not measured. The stored size of its fields is at most eight times as large,
 * and that of its name about 300,000 bytes. An array element takes at least four encoded bytes, so only an array in more than 16
 * indexes could have too many index entries.
 */
const SMALL_DOCUMENT_BYTES = MAX_INDEX_ENTRIES / 4;

/** @throws RpcError INVALID_ARGUMENT for a document that is too large, or has too many index entries */
export function assertDocumentLimits(path: DocumentPath, fields: MapValue, bytes: Buffer, indexes: Indexes): void {
  if (bytes.length <= SMALL_DOCUMENT_BYTES) return;
  const size = getNameSize(path.name) + getFieldsSize(fields) + 32;
  if (size > MAX_DOCUMENT_BYTES) {
    const format = (value: number): string => value.toLocaleString('en-US');
    throw invalid(
      `Document "${path.name}" cannot be written because its size (${format(size)} bytes) exceeds the maximum allowed ` +
        `size of ${format(MAX_DOCUMENT_BYTES)} bytes.`,
    );
  }
  if (indexes.countEntries(getCollectionGroup(path.collection), fields) > MAX_INDEX_ENTRIES) {
    throw invalid('too many index entries for entity');
  }
}

function assertMap(map: MapValue, depth: number): void {
  for (const [key, value] of map) {
    assertFieldName(key);
    assertPropertySize(value);
    assertNesting(value, depth);
  }
}

/** Checks the size of a string or bytes value, whose limit is below that of the document. */
function assertPropertySize(value: Value): void {
  const isLong = typeof value === 'string' ? value.length > MAX_PROPERTY_BYTES / 3 : value instanceof Uint8Array;
  if (isLong && Buffer.byteLength(value as string | Uint8Array) > MAX_PROPERTY_BYTES) {
    throw invalid(`The value of a property is longer than ${MAX_PROPERTY_BYTES} bytes.`);
  }
}

function assertFieldName(key: string): void {
  if (key === '') throw invalid('Document fields must not be empty.');
  if (/^__.*__$/s.test(key)) throw invalid(`Document fields cannot begin and end with "__": ${key}`);
  if (key.length > MAX_FIELD_NAME_BYTES / 3 && Buffer.byteLength(key) > MAX_FIELD_NAME_BYTES) {
    throw invalid(`The property name "${key.slice(0, 40)}…" is longer than ${MAX_FIELD_NAME_BYTES} bytes.`);
  }
}

function assertNesting(value: Value, depth: number): void {
  if (!(value instanceof Map) && !Array.isArray(value)) {
    assertValue(value);
    return;
  }
  if (depth > MAX_DEPTH) throw invalid(`A value is nested deeper than ${MAX_DEPTH} levels.`);
  if (value instanceof Map) {
    assertMap(value, depth + 1);
    return;
  }
  for (const item of value) {
    if (Array.isArray(item)) throw invalid('Cannot convert an array value in an array value.');
    assertPropertySize(item);
    assertNesting(item, depth + 1);
  }
}
