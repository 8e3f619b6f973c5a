import type { Message } from './codec';
import { assertDatabaseName, parseFieldPath, type FieldPath } from './paths';
import type { Mask } from './requests';
import { assertMicroseconds } from './value-rules';
import type { Timestamp } from './values';

/* Readers of the members that many decoded messages share. protobufjs has no types for them. */

/** The message in a member, or undefined if there is none. */
export const toMessage = (value: unknown): Message | undefined => (value ?? undefined) as Message | undefined;

export const toList = (value: unknown): Message[] => value as Message[];

export const toText = (value: unknown): string => value as string;

/** Whether a member was sent. Its default value alone does not show this. */
export const has = (message: Message, key: string): boolean => Object.hasOwn(message, key);

/** A time in microseconds since 1970, if there is one. */
export function readMicros(value: unknown): number | undefined {
  const time = value as Timestamp | null | undefined;
  if (time) assertMicroseconds(time);
  return time?.micros;
}

/** The name of the database in a request. */
export function readDatabase(request: Message): string {
  const database = toText(request['database']);
  assertDatabaseName(database);
  return database;
}

/** The path of a `FieldReference`. */
export const readField = (value: unknown): FieldPath => parseFieldPath(toText(toMessage(value)?.['fieldPath'] ?? ''));

/** The paths of a `DocumentMask`. */
export function readMask(value: unknown): Mask {
  const mask = toMessage(value);
  return mask && (mask['fieldPaths'] as string[]).map(parseFieldPath);
}

/** A transaction id as text. An empty id stands for no transaction. */
export const readTransactionId = (value: unknown): string | undefined =>
  Buffer.from(value as Uint8Array).toString('base64') || undefined;

/** The bytes of a transaction id on the wire. */
export const encodeTransactionId = (id: string): Buffer => Buffer.from(id, 'base64');
