import { decodeDocument, type Message } from './codec';
import { invalid, unsupported } from './errors';
import { has, readMask, toList, toMessage, toText } from './message-readers';
import type { Precondition, Write } from './requests';
import { assertMicroseconds } from './value-rules';
import type { Timestamp } from './values';

export function readWrite(message: Message): Write {
  const precondition = readPrecondition(message['currentDocument']);
  if (has(message, 'delete')) return { kind: 'delete', name: toText(message['delete']), precondition };
  if (has(message, 'transform') || toList(message['updateTransforms']).length > 0)
    throw unsupported('Field transforms');
  if (!has(message, 'update')) throw invalid('A write has no operation that is supported.');
  return {
    kind: 'update',
    ...decodeDocument(message['update'] as Uint8Array),
    mask: readMask(message['updateMask']),
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
