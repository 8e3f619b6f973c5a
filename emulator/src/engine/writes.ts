import { decodeFields, encodeFields, NO_FIELDS } from '../protocol/codec';
import type { StoredDoc } from '../storage/collections';
import { RpcError } from '../protocol/errors';
import type { Indexes } from './indexes';
import type { DocumentPath } from '../protocol/paths';
import type { Write } from '../protocol/requests';
import { assertDocumentLimits } from './write-rules';
import { getPath, setPath, type MapValue } from '../protocol/values';

/**
 * Computes the document after a write, and stores nothing. Times are microseconds since 1970.
 *
 * @returns the new version, `current` if nothing changes, or undefined if the write deletes the document
 * @throws RpcError for a failed precondition, or an exceeded limit
 */
export function applyWrite(
  write: Write,
  path: DocumentPath,
  current: StoredDoc | undefined,
  time: number,
  indexes: Indexes,
): StoredDoc | undefined {
  assertPrecondition(write, current);
  if (write.kind === 'delete') return undefined;
  const fields = mergeFields(write, current);
  const bytes = encodeFields(fields);
  // A write that changes nothing keeps the update time.
  if (current && bytes.equals(current.fields)) return current;
  assertDocumentLimits(path, fields, bytes, indexes);
  const { collection = path.collection, createTime = time } = current ?? {};
  return { collection, id: path.id, fields: bytes, createTime, updateTime: time, row: 0 };
}

function assertPrecondition({ precondition, name }: Write, current: StoredDoc | undefined): void {
  if (!precondition) return;
  if ('exists' in precondition) {
    if (precondition.exists && !current) throw new RpcError('NOT_FOUND', `No document to update: ${name}`);
    if (!precondition.exists && current) throw new RpcError('ALREADY_EXISTS', `Document already exists: ${name}`);
    return;
  }
  const expected = precondition.updateTime;
  const stored = current?.updateTime ?? 0;
  if (stored === expected) return;
  throw new RpcError(
    'FAILED_PRECONDITION',
    `the stored version (${stored}) does not match the required base version (${expected})`,
  );
}

function mergeFields(write: Extract<Write, { kind: 'update' }>, current: StoredDoc | undefined): MapValue {
  const { mask, fields } = write;
  if (!mask) return fields;
  const merged = decodeFields(current?.fields ?? NO_FIELDS);
  for (const path of mask) setPath(merged, path, getPath(fields, path));
  return merged;
}
