import { randomInt } from 'node:crypto';
import { NO_FIELDS, decodeDocument, type Message } from './codec';
import { invalid } from './errors';
import { has, readMask, toList, toMessage, toText } from './message-readers';
import { assertDisjoint, getDatabaseName, parseCollectionPath, parseFieldPath } from './paths';
import type { Mask, Precondition, Requests, Transform, Write } from './requests';
import { assertMicroseconds } from './value-rules';
import { isNumber, type MapValue, type Timestamp, type Value } from './values';

/* Decodes the writes of a commit or a batch, and writes that are requests of their own. */

/** Reads one write of a commit or a batch. */
export function readWrite(message: Message): Write {
  const precondition = readPrecondition(message['currentDocument']);
  if (has(message, 'delete')) return { kind: 'delete', name: toText(message['delete']), precondition };
  const transform = toMessage(message['transform']);
  if (transform) {
    const transforms = readTransforms(transform['fieldTransforms']);
    const name = toText(transform['document']);
    return { kind: 'update', name, fields: new Map(), mask: [], transforms, precondition };
  }
  if (!has(message, 'update')) throw invalid('A write has no operation that is supported.');
  return {
    kind: 'update',
    ...decodeDocument(message['update'] as Uint8Array),
    mask: readMask(message['updateMask']),
    transforms: readTransforms(message['updateTransforms']),
    precondition,
  };
}

/** Reads a CreateDocument request. */
export function readCreateDocument(request: Message): Requests['CreateDocument'] {
  const { name, fields } = decodeDocument((request['document'] ?? NO_FIELDS) as Uint8Array);
  if (name !== '') throw invalid('document.name must not be set');
  const collection = parseCollectionPath(toText(request['parent']), toText(request['collectionId']));
  const id = toText(request['documentId']) || createId();
  return readDocumentWrite(request, `${collection}/${id}`, fields, { precondition: { exists: false } });
}

/** Reads an UpdateDocument request. */
export function readUpdateDocument(request: Message): Requests['UpdateDocument'] {
  const { name, fields } = decodeDocument((request['document'] ?? NO_FIELDS) as Uint8Array);
  const precondition = readPrecondition(request['currentDocument']);
  return readDocumentWrite(request, name, fields, { precondition, mask: readMask(request['updateMask']) });
}

/** Reads a DeleteDocument request. */
export function readDeleteDocument(request: Message): Requests['DeleteDocument'] {
  const name = toText(request['name']);
  const precondition = readPrecondition(request['currentDocument']);
  return { database: getDatabaseName(name), write: { kind: 'delete', name, precondition } };
}

function readDocumentWrite(
  request: Message,
  name: string,
  fields: MapValue,
  { precondition, mask }: { precondition: Precondition | undefined; mask?: Mask },
): Requests['UpdateDocument'] {
  const write: Write = { kind: 'update', name, fields, mask, transforms: [], precondition };
  return { database: getDatabaseName(name), write, mask: readMask(request['mask']) };
}

const ID_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An id of 20 characters, as the SDKs make them. */
const createId = (): string =>
  Array.from({ length: 20 }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('');

function readPrecondition(value: unknown): Precondition | undefined {
  const precondition = toMessage(value);
  if (!precondition) return undefined;
  if (has(precondition, 'exists')) return { exists: Boolean(precondition['exists']) };
  const updateTime = precondition['updateTime'] as Timestamp | null;
  if (updateTime) assertMicroseconds(updateTime);
  return updateTime ? { updateTime } : undefined;
}

function readTransforms(value: unknown): Transform[] {
  const transforms = toList(value).map(readTransform);
  assertDisjoint(transforms.map(({ path }) => path));
  return transforms;
}

/** The only `ServerValue`. */
const REQUEST_TIME = 1;

function readNumber(value: Value): bigint | number {
  if (!isNumber(value)) throw invalid('Input must be int64 or double.');
  return value;
}

function readTransform(message: Message): Transform {
  const path = parseFieldPath(toText(message['fieldPath']));
  if (message['setToServerValue'] === REQUEST_TIME) return { path, kind: 'serverTimestamp' };
  for (const kind of ['increment', 'maximum', 'minimum'] as const) {
    if (has(message, kind)) return { path, kind, operand: readNumber(message[kind] as Value) };
  }
  if (has(message, 'appendMissingElements')) {
    return { path, kind: 'arrayUnion', elements: message['appendMissingElements'] as Value[] };
  }
  if (has(message, 'removeAllFromArray')) {
    return { path, kind: 'arrayRemove', elements: message['removeAllFromArray'] as Value[] };
  }
  throw invalid('A field transform has no type that is supported.');
}
