import { invalid } from './errors';
import type { FieldPath } from './paths';
import { GeoPoint, Reference, Timestamp, byKey, type MapValue, type Value } from './values';

/*
 * The protobuf form of `Value` and of `Document.fields`, by hand. A document is kept as the bytes of its fields, in one
 * canonical form (keys sorted, key before value), so that a query decodes only the fields it looks at, an answer is
 * assembled from the stored bytes, and two documents are the same exactly when their bytes are.
 *
 * https://protobuf.dev/programming-guides/encoding/; field numbers from google/firestore/v1/document.proto.
 */

// Tags (field number << 3 | wire type) of Value's cases; STRING's and BYTES' take two bytes on the wire.
const BOOLEAN = 0x08;
const INTEGER = 0x10;
const DOUBLE = 0x19;
const REFERENCE = 0x2a;
const MAP = 0x32;
const GEO_POINT = 0x42;
const ARRAY = 0x4a;
const TIMESTAMP = 0x52;
const NULL = 0x58;
const STRING = 0x8a;
const BYTES = 0x92;
// Document.fields, and a map entry's key and value.
const FIELD = 0x12;
const KEY = 0x0a;
const VALUE = 0x12;

/** The bytes of an empty document's fields. */
export const NO_FIELDS = Buffer.alloc(0);

class Reader {
  constructor(
    readonly bytes: Buffer,
    public at = 0,
    public end = bytes.length,
  ) {}

  /** A varint of at most 53 bits: tags, lengths, small numbers. */
  varint(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let factor = 0x80; ; factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  /** A signed 64-bit varint. */
  int64(): bigint {
    let value = 0;
    let factor = 1;
    // Seven bytes hold 49 bits, which cover nearly every integer there is and fit a double; the rest needs bigints.
    for (let i = 0; i < 7; i++, factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(value);
    }
    let high = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.byte();
      high |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, BigInt(value) | (high << 49n));
    }
  }

  double(): number {
    this.at += 8;
    if (this.at > this.end) throw truncated();
    return this.bytes.readDoubleLE(this.at - 8);
  }

  string(): string {
    const length = this.varint();
    const start = this.at;
    return this.bytes.toString('utf8', start, this.advance(length));
  }

  /** A copy, because what it is read from may be a whole request. */
  copy(): Uint8Array {
    const length = this.varint();
    return Buffer.from(this.bytes.subarray(this.at, this.advance(length)));
  }

  message(): Reader {
    const length = this.varint();
    const start = this.at;
    return new Reader(this.bytes, start, this.advance(length));
  }

  /** Goes on within the message that comes next, and no further. */
  enter(): void {
    const length = this.varint();
    this.end = this.at + length;
  }

  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        while (this.byte() >= 0x80);
        return;
      case 1:
        this.advance(8);
        return;
      case 2:
        this.advance(this.varint());
        return;
      case 5:
        this.advance(4);
        return;
      default:
        throw invalid('Malformed protocol buffer: unknown wire type.');
    }
  }

  private byte(): number {
    if (this.at >= this.end) throw truncated();
    return this.bytes[this.at++] ?? 0;
  }

  private advance(length: number): number {
    this.at += length;
    if (this.at > this.end) throw truncated();
    return this.at;
  }
}

const truncated = (): Error => invalid('Malformed protocol buffer: it ends too early.');

/** Messages and lists nest no deeper than this before they are refused; Firestore's own limit (20 levels) is far below. */
const MAX_NESTING = 100;

function readValue(reader: Reader, depth: number): Value {
  if (depth > MAX_NESTING) throw invalid('The value is nested too deeply.');
  let value: Value | undefined;
  while (reader.at < reader.end) {
    const tag = reader.varint();
    switch (tag) {
      case NULL:
        reader.skip(tag);
        value = null;
        break;
      case BOOLEAN:
        value = reader.varint() !== 0;
        break;
      case INTEGER:
        value = reader.int64();
        break;
      case DOUBLE:
        value = reader.double();
        break;
      case STRING:
        value = reader.string();
        break;
      case BYTES:
        value = reader.copy();
        break;
      case REFERENCE:
        value = new Reference(reader.string());
        break;
      case TIMESTAMP:
        value = readTimestamp(reader.message());
        break;
      case GEO_POINT:
        value = readGeoPoint(reader.message());
        break;
      case ARRAY:
        value = readArray(reader.message(), depth);
        break;
      case MAP:
        value = readEntries(reader.message(), KEY, depth);
        break;
      default:
        reader.skip(tag);
    }
  }
  if (value === undefined) throw invalid('A value has no type.');
  return value;
}

function readTimestamp(reader: Reader): Timestamp {
  let seconds = 0;
  let nanos = 0;
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === 0x08) seconds = Number(reader.int64());
    else if (tag === 0x10) nanos = reader.varint();
    else reader.skip(tag);
  }
  // Firestore keeps microseconds and drops what is finer.
  return new Timestamp(seconds, nanos - (nanos % 1000));
}

function readGeoPoint(reader: Reader): GeoPoint {
  let latitude = 0;
  let longitude = 0;
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === 0x09) latitude = reader.double();
    else if (tag === 0x11) longitude = reader.double();
    else reader.skip(tag);
  }
  return new GeoPoint(latitude, longitude);
}

function readArray(reader: Reader, depth: number): Value[] {
  const items: Value[] = [];
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === KEY) items.push(readValue(reader.message(), depth + 1));
    else reader.skip(tag);
  }
  return items;
}

/** Map entries under a tag: of a MapValue under 1, of a Document under 2. Whatever else stands between is skipped. */
function readEntries(reader: Reader, entryTag: number, depth: number): MapValue {
  const map: MapValue = new Map();
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag !== entryTag) {
      reader.skip(tag);
      continue;
    }
    const entry = reader.message();
    let key = '';
    let value: Value | undefined;
    while (entry.at < entry.end) {
      const part = entry.varint();
      if (part === KEY) key = entry.string();
      else if (part === VALUE) value = readValue(entry.message(), depth + 1);
      else entry.skip(part);
    }
    if (value === undefined) throw invalid('A value has no type.');
    map.set(key, value);
  }
  return map;
}

/** Decodes a protobuf `Value`. */
export const decodeValue = (bytes: Uint8Array): Value => readValue(new Reader(asBuffer(bytes)), 0);

/** Decodes a protobuf `ArrayValue`. */
export const decodeArray = (bytes: Uint8Array): Value[] => readArray(new Reader(asBuffer(bytes)), 0);

/** Decodes all the fields of a document. */
export const decodeFields = (bytes: Buffer): MapValue => readEntries(new Reader(bytes), FIELD, 0);

/** Decodes a protobuf `Document` as a client sends it: its name and its fields. */
export function decodeDocument(bytes: Uint8Array): { name: string; fields: MapValue } {
  const reader = new Reader(asBuffer(bytes));
  let name = '';
  while (reader.at < reader.end) {
    const tag = reader.varint();
    if (tag === 0x0a) name = reader.string();
    else reader.skip(tag);
  }
  return { name, fields: decodeFields(reader.bytes) };
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Prepares the reading of one field from stored bytes. Only that field is decoded: the others are stepped over, which is
 * what makes a query over 100,000 documents cheap without a decoded copy of each.
 */
export function fieldReader(path: FieldPath): (fields: Buffer) => Value | undefined {
  const keys = path.map((step) => Buffer.from(step));
  return (fields) => {
    const reader = new Reader(fields);
    for (let step = 0; ; step++) {
      const key = keys[step];
      if (!key || !enterEntry(reader, key)) return undefined;
      if (step === keys.length - 1) return readValue(reader, 0);
      if (reader.varint() !== MAP) return undefined;
      reader.enter();
    }
  };
}

/** Moves a reader from the entries of a map into the value under a key, if there is one. */
function enterEntry(reader: Reader, key: Buffer): boolean {
  while (reader.at < reader.end) {
    reader.at++; // the entry's tag
    const length = reader.varint();
    const next = reader.at + length;
    reader.at++; // the key's tag: the canonical form has the key first
    const keyLength = reader.varint();
    if (keyLength === key.length && sameBytes(reader.bytes, reader.at, key)) {
      reader.at += keyLength + 1;
      reader.enter();
      return true;
    }
    reader.at = next;
  }
  return false;
}

/** Field names are short: a loop is quicker than a call into native code. */
function sameBytes(bytes: Buffer, at: number, key: Buffer): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[at + i] !== key[i]) return false;
  return true;
}

/** Writes from the back to the front, so that a message's length is known by the time its prefix is written. */
class Writer {
  private bytes = Buffer.allocUnsafeSlow(1 << 16);
  private at = this.bytes.length;

  /** What was written since the last call, as a copy of its own. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(this.at));
    this.at = this.bytes.length;
    return taken;
  }

  /** How much has been written: the difference of two marks is a length. */
  get mark(): number {
    return this.bytes.length - this.at;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[--this.at] = value;
  }

  varint(value: number): void {
    if (value < 0x80) {
      this.byte(value);
      return;
    }
    const septets: number[] = [];
    for (let rest = value; rest > 0; rest = Math.floor(rest / 0x80)) septets.push(rest % 0x80);
    septets.reverse().forEach((septet, i) => this.byte(i === 0 ? septet : septet | 0x80));
  }

  int64(value: bigint): void {
    if (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) {
      this.varint(Number(value));
      return;
    }
    const septets: number[] = [];
    for (let rest = BigInt.asUintN(64, value); rest > 0n; rest >>= 7n) septets.push(Number(rest & 0x7fn));
    septets.reverse().forEach((septet, i) => this.byte(i === 0 ? septet : septet | 0x80));
  }

  double(value: number): void {
    this.reserve(8);
    this.at -= 8;
    this.bytes.writeDoubleLE(value, this.at);
  }

  string(value: string): void {
    const length = Buffer.byteLength(value);
    this.reserve(length);
    this.at -= length;
    this.bytes.write(value, this.at, length, 'utf8');
    this.varint(length);
  }

  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.at -= value.length;
    this.bytes.set(value, this.at);
    this.varint(value.length);
  }

  private reserve(length: number): void {
    if (this.at >= length) return;
    const used = this.mark;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, used + length));
    this.bytes.copy(larger, larger.length - used, this.at);
    this.bytes = larger;
    this.at = larger.length - used;
  }
}

function writeValue(writer: Writer, value: Value): void {
  if (typeof value === 'string') {
    writer.string(value);
    writer.varint(STRING);
  } else if (typeof value === 'bigint') {
    writer.int64(value);
    writer.byte(INTEGER);
  } else if (typeof value === 'number') {
    writer.double(value);
    writer.byte(DOUBLE);
  } else if (typeof value === 'boolean') {
    writer.byte(value ? 1 : 0);
    writer.byte(BOOLEAN);
  } else if (value === null) {
    writer.byte(0);
    writer.byte(NULL);
  } else if (value instanceof Uint8Array) {
    writer.raw(value);
    writer.varint(BYTES);
  } else if (value instanceof Reference) {
    writer.string(value.name);
    writer.byte(REFERENCE);
  } else {
    writeMessage(writer, value);
  }
}

function writeMessage(writer: Writer, value: Timestamp | GeoPoint | Value[] | MapValue): void {
  const end = writer.mark;
  let tag = MAP;
  if (value instanceof Timestamp) {
    tag = TIMESTAMP;
    writer.varint(value.nanos);
    writer.byte(0x10);
    writer.int64(BigInt(value.seconds));
    writer.byte(0x08);
  } else if (value instanceof GeoPoint) {
    tag = GEO_POINT;
    writer.double(value.longitude);
    writer.byte(0x11);
    writer.double(value.latitude);
    writer.byte(0x09);
  } else if (Array.isArray(value)) {
    tag = ARRAY;
    for (const item of value.toReversed()) {
      const itemEnd = writer.mark;
      writeValue(writer, item);
      writer.varint(writer.mark - itemEnd);
      writer.byte(KEY);
    }
  } else {
    writeEntries(writer, value, KEY);
  }
  writer.varint(writer.mark - end);
  writer.byte(tag);
}

function writeEntries(writer: Writer, map: MapValue, entryTag: number): void {
  for (const [key, value] of [...map].sort(byKey).reverse()) {
    const end = writer.mark;
    writeValue(writer, value);
    writer.varint(writer.mark - end);
    writer.byte(VALUE);
    writer.string(key);
    writer.byte(KEY);
    writer.varint(writer.mark - end);
    writer.byte(entryTag);
  }
}

const writer = new Writer();

/** Encodes a protobuf `Value`. */
export function encodeValue(value: Value): Buffer {
  writeValue(writer, value);
  return writer.take();
}

/** Encodes the fields of a document, in the canonical form. */
export function encodeFields(fields: MapValue): Buffer {
  writeEntries(writer, fields, FIELD);
  return writer.take();
}

/** What a `Document` message is assembled from. Times are microseconds since 1970. */
export interface EncodableDocument {
  readonly name: string;
  readonly fields: Buffer;
  readonly createTime?: number;
  readonly updateTime?: number;
}

/** Encodes a protobuf `Document` around fields that are encoded already. */
export function encodeDocument(document: EncodableDocument): Buffer {
  const times = Buffer.concat([encodeTime(0x1a, document.createTime), encodeTime(0x22, document.updateTime)]);
  writer.string(document.name);
  writer.byte(0x0a);
  return Buffer.concat([writer.take(), document.fields, times]);
}

function encodeTime(tag: number, micros: number | undefined): Buffer {
  if (micros === undefined) return NO_FIELDS;
  const end = writer.mark;
  const time = Timestamp.ofMicros(micros);
  writer.varint(time.nanos);
  writer.byte(0x10);
  writer.varint(time.seconds);
  writer.byte(0x08);
  writer.varint(writer.mark - end);
  writer.byte(tag);
  return writer.take();
}
