import { decodeFields, encodeFields, NO_FIELDS } from '../protocol/codec';
import type { StoredDoc } from '../storage/collections';
import { RpcError } from '../protocol/errors';
import type { Indexes } from './indexes';
import type { DocumentPath } from '../protocol/paths';
import type { Write } from '../protocol/requests';
import { assertDocumentLimits } from './write-rules';
import { cloneMap, getPath, setPath, type MapValue } from '../protocol/values';

/** The document after a write, and the result for the client. */
export interface WriteResult {
  /** The new version. It is the same object as before if nothing changed, and undefined if the document does not exist. */
  readonly doc: StoredDoc | undefined;
  readonly updateTime: number | undefined;
}

/**
 * Computes the result of one write, and stores nothing. Times are microseconds since 1970.
 *
 * @throws RpcError for a failed precondition, or an exceeded limit
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
      return { doc: undefined, updateTime: undefined };
    case 'update': {
      const fields = mergeFields(write, current);
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
      return { doc, updateTime: doc.updateTime };
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
  if (!mask) return fields;
  const merged = decodeFields(current?.fields ?? NO_FIELDS);
  const source = cloneMap(fields);
  for (const path of mask) setPath(merged, path, getPath(source, path));
  return merged;
}
