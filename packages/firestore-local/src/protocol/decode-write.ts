import { decodeDocument, type Message } from './codec';
import { invalid } from './errors';
import { has, readMask, toList, toMessage, toText } from './message-readers';
import { assertDisjoint, parseFieldPath } from './paths';
import type { Precondition, Transform, Write } from './requests';
import { assertMicroseconds } from './value-rules';
import { isNumber, type Timestamp, type Value } from './values';

/* Decodes the writes of a commit or a batch. */

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
