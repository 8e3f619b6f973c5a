import protos from '@google-cloud/firestore-api/protos/protos.json';
import protobuf, { Reader } from 'protobufjs';
import { invalid, unsupported } from './errors';
import type { FieldPath } from './paths';
import { assertTimestamp } from './value-rules';
import { Reference, Timestamp, compareByKey, type MapValue, type Value } from './values';

/*
 * Decodes and encodes protobuf messages by the definitions in @google-cloud/firestore-api. The message of a value becomes a
 * Value. A `Document` within another message stays bytes, so that stored fields can be sent unchanged.
 */

/** A decoded message. protobufjs gives absent fields their defaults, such as '', 0, [] or null. */
export type Message = Record<string, unknown>;

/** Leaves out the definitions for administration, which would take as long to load as all others together. */
const { firestore, protobuf: wellKnown, rpc, type } = protos.nested.google.nested;
const google = { nested: { firestore: { nested: { v1: firestore.nested.v1 } }, protobuf: wellKnown, rpc, type } };

const definitions = JSON.parse(
  JSON.stringify({ nested: { google } }, (key, value: unknown) =>
    key === 'type' && value === 'Document' ? 'bytes' : value,
  ),
) as protobuf.INamespace;

/** The definitions of google.firestore.v1, and those that it uses. */
export const root = protobuf.Root.fromJSON(definitions);

/** The functions that protobufjs generates for a message type. Its TypeScript declarations omit the `depth` of `encode`. */
interface Codec {
  decode(reader: Reader | Uint8Array, length?: number, end?: number, depth?: number): unknown;
  encode(value: unknown, writer?: protobuf.Writer, depth?: number): protobuf.Writer;
}

/** Makes a message type decode to what `fromMessage` returns, and encode from that. Another call of `setup()` would undo this. */
function mapType<T>(name: string, fromMessage: (message: Message) => T, toMessage: (value: T) => object): Codec {
  const type = root.lookupType(name).setup();
  const codec = type as unknown as Codec;
  const decode = codec.decode.bind(type);
  const encode = codec.encode.bind(type);
  codec.decode = (reader, length, end, depth) => fromMessage(decode(reader, length, end, depth) as Message);
  codec.encode = (value, writer, depth) => encode(toMessage(value as T), writer, depth);
  return codec;
}

mapType(
  'google.protobuf.Timestamp',
  ({ seconds, nanos }) => {
    const time = new Timestamp(toNumber(seconds), nanos as number);
    assertTimestamp(time);
    return time;
  },
  (time) => time,
);
mapType(
  'google.firestore.v1.ArrayValue',
  ({ values }) => values as Value[],
  (values) => ({ values }),
);
mapType(
  'google.firestore.v1.MapValue',
  ({ fields }) => {
    // A vector arrives as a map. Firestore sorts vectors differently from maps, so the server must not store a vector as a map.
    if ((fields as Message)['__type__'] === '__vector__') throw unsupported('Vectors');
    return toMap(fields);
  },
  toFieldsMessage,
);
const valueType = mapType('google.firestore.v1.Value', fromValueMessage, toValueMessage);
const documentType = root.lookupType('google.firestore.v1.Document');

/** An int64 as protobufjs reads it. */
interface Int64 {
  readonly high: number;
  readonly low: number;
  toNumber(): number;
}

/** Converts an int64 field to a number, which is exact up to 2^53. */
export const toNumber = (int64: unknown): number => (typeof int64 === 'number' ? int64 : (int64 as Int64).toNumber());

const toBigInt = ({ high, low }: Int64): bigint => (BigInt(high) << 32n) | BigInt(low >>> 0);

function fromValueMessage(message: Message): Value {
  // A client could send several kinds of value in one message. The last one counts, unless a kind is repeated.
  const kind = Object.keys(message).at(-1) ?? '';
  switch (kind) {
    case 'nullValue':
      return null;
    case 'integerValue':
      return toBigInt(message[kind] as Int64);
    case 'referenceValue':
      return new Reference(message[kind] as string);
    case 'bytesValue':
      // A copy, because the bytes are a view of the whole request.
      return Buffer.from(message[kind] as Uint8Array);
    case 'timestampValue':
      return (message[kind] as Timestamp).toMicroseconds();
    case 'booleanValue':
    case 'doubleValue':
    case 'stringValue':
    case 'arrayValue':
    case 'mapValue':
      return message[kind] as Value;
    case 'geoPointValue':
      throw unsupported('Geographical points');
    default:
      throw invalid('A value has no type that is supported.');
  }
}

function toValueMessage(value: Value): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'bigint') {
    const number = Number(value);
    return { integerValue: Number.isSafeInteger(number) ? number : value.toString() };
  }
  if (typeof value === 'number') return { doubleValue: value };
  if (typeof value === 'boolean') return { booleanValue: value };
  if (value === null) return { nullValue: 0 };
  if (value instanceof Uint8Array) return { bytesValue: value };
  if (value instanceof Reference) return { referenceValue: value.name };
  if (value instanceof Timestamp) return { timestampValue: value };
  return Array.isArray(value) ? { arrayValue: value } : { mapValue: value };
}

const toMap = (fields: unknown): MapValue => new Map(Object.entries(fields as Record<string, Value>));

/**
 * Puts fields into one canonical order, so that equal fields have equal bytes. JavaScript puts integer-like keys first. The
 * other keys follow in the order of their UTF-8 bytes. Firestore defines no order.
 */
function toFieldsMessage(map: MapValue): { fields: Record<string, Value> } {
  const fields = Object.create(null) as Record<string, Value>;
  for (const [key, value] of [...map].sort(compareByKey)) fields[key] = value;
  return { fields };
}

/** The bytes of an empty document's fields. */
export const NO_FIELDS = Buffer.alloc(0);

/** Encodes the fields of a document in canonical form, as they are stored. */
export const encodeFields = (fields: MapValue): Buffer =>
  documentType.encode(toFieldsMessage(fields)).finish() as Buffer;

/** Decodes stored fields, which were checked when they were written. */
export const decodeFields = (bytes: Uint8Array): MapValue =>
  toMap((documentType.decode(bytes) as unknown as Message)['fields']);

/** Decodes a `Document` that a client sent. */
export function decodeDocument(bytes: Uint8Array): { name: string; fields: MapValue } {
  const { name, fields } = documentType.decode(bytes) as unknown as Message;
  return { name: name as string, fields: toMap(fields) };
}

/** Encodes a `Document` with fields that are already encoded. Protobuf reads concatenated messages as one. */
export function encodeDocument(
  name: string,
  { fields, createTime, updateTime }: { fields: Buffer; createTime: number; updateTime: number },
): Buffer {
  const times = { createTime: Timestamp.fromMicros(createTime), updateTime: Timestamp.fromMicros(updateTime) };
  return Buffer.concat([documentType.encode({ name, ...times }).finish(), fields]);
}

/** The tag of a map in a `Value` on the wire. */
const MAP_TAG = 0x32;

/**
 * Creates a reader of one field in stored bytes. It skips the other fields, so a filter over 100,000 documents decodes only
 * what it compares.
 */
export function createFieldReader(path: FieldPath): (fields: Buffer) => Value | undefined {
  const keys = path.map((step) => Buffer.from(step));
  const last = keys.pop() ?? NO_FIELDS;
  return (fields) => {
    const reader = Reader.create(fields);
    for (const key of keys) {
      if (!seekEntry(reader, key)) return undefined;
      reader.uint32();
      if (reader.uint32() !== MAP_TAG) return undefined;
      reader.len = reader.uint32() + reader.pos;
    }
    if (!seekEntry(reader, last)) return undefined;
    return valueType.decode(reader, reader.uint32()) as Value;
  };
}

/** Moves the reader to the length of the value under a key, and returns whether the key exists. Each key precedes its value. */
function seekEntry(reader: Reader, key: Buffer): boolean {
  while (reader.pos < reader.len) {
    reader.pos++; // tag of the entry
    const end = reader.uint32() + reader.pos;
    reader.pos++; // tag of the key
    const keyLength = reader.uint32();
    if (keyLength === key.length && hasBytesAt(reader.buf, reader.pos, key)) {
      reader.pos += keyLength + 1;
      return true;
    }
    reader.pos = end;
  }
  return false;
}

/** Most field names are short, so a loop is faster than a call of native code. */
function hasBytesAt(bytes: Uint8Array, offset: number, expected: Buffer): boolean {
  for (let i = 0; i < expected.length; i++) if (bytes[offset + i] !== expected[i]) return false;
  return true;
}
