import { decodeFields, encodeFields, NO_FIELDS } from '../protocol/codec';
import type { StoredDoc } from '../storage/collections';
import { RpcError } from '../protocol/errors';
import type { Indexes } from './indexes';
import type { DocumentPath } from '../protocol/paths';
import type { Transform, Write } from '../protocol/requests';
import { assertDocumentLimits } from './write-rules';
import {
  Timestamp,
  cloneMap,
  equalValues,
  getPath,
  isNumber,
  setPath,
  type MapValue,
  type Value,
} from '../protocol/values';

/** The document after a write, and the result for the client. */
export interface WriteResult {
  /** The new version. It is the same object as before if nothing changed, and undefined if the document does not exist. */
  readonly doc: StoredDoc | undefined;
  readonly updateTime: number | undefined;
  readonly transformResults: readonly Value[];
}

/**
 * Computes the result of one write, and stores nothing. Times are microseconds since 1970.
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
      if (!unchanged) assertDocumentLimits(path, fields, bytes, indexes);
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
      return isNumber(stored) ? addNumbers(stored, transform.operand) : transform.operand;
    case 'maximum':
    case 'minimum':
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

/** Returns the greater or the lesser number. If both are equal, the stored number stays. NaN is both greatest and least. */
function selectNumber(stored: bigint | number, operand: bigint | number, kind: 'maximum' | 'minimum'): bigint | number {
  if (Number.isNaN(stored) || Number.isNaN(operand)) return NaN;
  const isOperand = kind === 'maximum' ? operand > stored : operand < stored;
  return isOperand ? operand : stored;
}

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** Adds two integers as a 64-bit integer, which stops at its limits, and other numbers as doubles. */
function addNumbers(a: bigint | number, b: bigint | number): bigint | number {
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return Number(a) + Number(b);
  const sum = a + b;
  return sum > MAX_INT64 ? MAX_INT64 : sum < MIN_INT64 ? MIN_INT64 : sum;
}
