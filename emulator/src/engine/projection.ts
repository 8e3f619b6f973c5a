import { NO_FIELDS, decodeFields, encodeDocument, encodeFields } from '../protocol/codec';
import { getResourceName, type StoredDoc } from '../storage/collections';
import type { FieldPath } from '../protocol/paths';
import type { Mask } from '../protocol/requests';
import { getPath, setPath, type MapValue } from '../protocol/values';

/** Encodes a stored document for a response, reduced to the fields of a mask if there is one. */
export const encodeStoredDocument = (doc: StoredDoc, mask: Mask): Buffer =>
  encodeDocument(getResourceName(doc), mask ? { ...doc, fields: projectFields(doc.fields, mask) } : doc);

function projectFields(fields: Buffer, paths: readonly FieldPath[]): Buffer {
  if (paths.length === 0) return NO_FIELDS;
  const all = decodeFields(fields);
  const kept: MapValue = new Map();
  for (const path of paths) {
    const value = getPath(all, path);
    if (value !== undefined) setPath(kept, path, value);
  }
  return encodeFields(kept);
}
