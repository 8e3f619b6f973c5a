import type { Message } from './codec';
import { assertDatabaseName, parseFieldPath, type FieldPath } from './paths';
import type { Mask } from './requests';
import { assertMicroseconds } from './value-rules';
import type { Timestamp } from './values';

/* These functions handle members of messages, for which protobufjs has no types. */

/** Returns the message in a member, or undefined if there is none. */
export const toMessage = (value: unknown): Message | undefined => (value ?? undefined) as Message | undefined;

export const toList = (value: unknown): Message[] => value as Message[];

export const toText = (value: unknown): string => value as string;

/** Returns whether the client sent a member. An absent member also has a value, its default. */
export const has = (message: Message, key: string): boolean => Object.hasOwn(message, key);

/** Reads a time in microseconds since 1970, if there is one. */
export function readMicros(value: unknown): number | undefined {
  const time = value as Timestamp | null | undefined;
  if (time) assertMicroseconds(time);
  return time?.micros;
}

export function readDatabase(request: Message): string {
  const database = toText(request['database']);
  assertDatabaseName(database);
  return database;
}

/** Reads the path of a `FieldReference`. */
export const readField = (value: unknown): FieldPath => parseFieldPath(toText(toMessage(value)?.['fieldPath'] ?? ''));

/** Reads the paths of a `DocumentMask`. */
export function readMask(value: unknown): Mask {
  const mask = toMessage(value);
  return mask && (mask['fieldPaths'] as string[]).map(parseFieldPath);
}

/** Reads a transaction id as base64. An empty id stands for no transaction. */
export const readTransactionId = (value: unknown): string | undefined =>
  Buffer.from(value as Uint8Array).toString('base64') || undefined;

/** Returns the bytes of a transaction id, as the protocol sends them. */
export const encodeTransactionId = (id: string): Buffer => Buffer.from(id, 'base64');
