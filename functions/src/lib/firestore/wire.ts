/**
 * Reads documents from the bytes of `google.firestore.v1.RunQueryResponse`, as far as the answers need them
 * (https://protobuf.dev/programming-guides/encoding, and Google's firestore.proto, document.proto).
 */

/** A document's id, and those of its fields that were read. */
export interface StoredDocument {
  readonly id: string;
  readonly fields: StoredMap;
}

/** Strings, arrays and maps are what answers are made of; a value of any other type reads as undefined. */
export type StoredValue = string | StoredMap | readonly StoredValue[] | undefined;

export interface StoredMap {
  readonly [name: string]: StoredValue;
}

/** The numbers of the fields that are read. */
const RESPONSE = { document: 1, readTime: 3 } as const;
const DOCUMENT = { name: 1, fields: 2 } as const;
const MAP = { fields: 1 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const VALUE = { map: 6, array: 9, string: 17 } as const;
const ARRAY = { values: 1 } as const;

/**
 * The document of a response; undefined for a response without one, which only tells how far the query is.
 *
 * @param parentBytes how many bytes of a document's name come before its id
 * @throws for bytes that are no such message
 */
export function decodeDocument(response: Buffer, parentBytes: number): StoredDocument | undefined {
  const reader = new ProtobufReader(response);
  let document: StoredDocument | undefined;
  while (reader.offset < response.length) {
    if (reader.readFieldNumber() === RESPONSE.document) document = readDocument(reader, parentBytes);
    else reader.skipValue();
  }
  return document;
}

/** Where a query has come to: enough to go on behind it. */
export interface QueryCursor {
  /** The full name of the document. */
  name: string;
  /** The value of the field that it is ordered by, as the bytes that it came in. */
  orderByValue: Buffer | undefined;
  /** When it was read, as the bytes that it came in. */
  readTime: Buffer;
}

/** The position of a response that has a document. @throws for bytes that are no such message */
export function decodeCursor(response: Buffer, orderBy: string | undefined): QueryCursor {
  const reader = new ProtobufReader(response);
  let place: Omit<QueryCursor, 'readTime'> = { name: '', orderByValue: undefined };
  let readTime: Buffer = Buffer.alloc(0);
  while (reader.offset < response.length) {
    switch (reader.readFieldNumber()) {
      case RESPONSE.document:
        place = readCursor(reader, orderBy);
        break;
      case RESPONSE.readTime:
        readTime = reader.readBytes();
        break;
      default:
        reader.skipValue();
    }
  }
  return { ...place, readTime };
}

function readCursor(reader: ProtobufReader, orderBy: string | undefined): Omit<QueryCursor, 'readTime'> {
  let name = '';
  let orderByValue: Buffer | undefined;
  for (const end = reader.readEndOffset(); reader.offset < end;) {
    switch (reader.readFieldNumber()) {
      case DOCUMENT.name:
        name = reader.readString();
        break;
      case DOCUMENT.fields: {
        const [key, value] = readMapEntry(reader, readRawValue);
        if (key === orderBy) orderByValue = value;
        break;
      }
      default:
        reader.skipValue();
    }
  }
  return { name, orderByValue };
}

function readDocument(reader: ProtobufReader, parentBytes: number): StoredDocument {
  let id = '';
  const fields = {};
  for (const end = reader.readEndOffset(); reader.offset < end;) {
    switch (reader.readFieldNumber()) {
      case DOCUMENT.name:
        id = reader.readString(parentBytes);
        break;
      case DOCUMENT.fields:
        readFieldInto(fields, reader);
        break;
      default:
        reader.skipValue();
    }
  }
  return { id, fields };
}

function readMap(reader: ProtobufReader): StoredMap {
  const fields = {};
  for (const end = reader.readEndOffset(); reader.offset < end;) {
    if (reader.readFieldNumber() === MAP.fields) readFieldInto(fields, reader);
    else reader.skipValue();
  }
  return fields;
}

function readFieldInto(fields: Record<string, StoredValue>, reader: ProtobufReader): void {
  const [key, value] = readMapEntry(reader, readValue);
  // No answer has a field of this name, and to set it would be to set the prototype.
  if (key !== '__proto__') fields[key] = value;
}

/** An entry of a map: its key, and its value as it is to be read. */
function readMapEntry<T>(
  reader: ProtobufReader,
  readAs: (reader: ProtobufReader) => T,
): [key: string, value: T | undefined] {
  let key = '';
  let value: T | undefined;
  for (const end = reader.readEndOffset(); reader.offset < end;) {
    switch (reader.readFieldNumber()) {
      case ENTRY.key:
        key = reader.readString();
        break;
      case ENTRY.value:
        value = readAs(reader);
        break;
      default:
        reader.skipValue();
    }
  }
  return [key, value];
}

const readRawValue = (reader: ProtobufReader): Buffer => reader.readBytes();

function readValue(reader: ProtobufReader): StoredValue {
  let value: StoredValue;
  for (const end = reader.readEndOffset(); reader.offset < end;) {
    switch (reader.readFieldNumber()) {
      case VALUE.string:
        value = reader.readString();
        break;
      case VALUE.map:
        value = readMap(reader);
        break;
      case VALUE.array:
        value = readArray(reader);
        break;
      default:
        reader.skipValue();
    }
  }
  return value;
}

function readArray(reader: ProtobufReader): StoredValue[] {
  const values: StoredValue[] = [];
  for (const end = reader.readEndOffset(); reader.offset < end;) {
    if (reader.readFieldNumber() === ARRAY.values) values.push(readValue(reader));
    else reader.skipValue();
  }
  return values;
}

/** How a field's value is written; the two kinds of group are of another age. */
const WIRE_TYPES = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** A place in a message. A field's number is read first, then its value, by exactly one of the other methods. */
class ProtobufReader {
  offset = 0;
  #wire = 0;

  constructor(readonly bytes: Buffer) {}

  /** The number of the field that comes next. */
  readFieldNumber(): number {
    const tag = this.#varint();
    this.#wire = tag & 7;
    return tag >>> 3;
  }

  /** Where a value that has a length ends; the place is then its beginning. */
  readEndOffset(): number {
    if (this.#wire !== WIRE_TYPES.bytes) throw malformedMessage();
    const end = this.#varint() + this.offset;
    if (end > this.bytes.length) throw malformedMessage();
    return end;
  }

  /** A string, without so many of its first bytes. */
  readString(skipped = 0): string {
    const end = this.readEndOffset();
    const text = this.bytes.toString('utf8', this.offset + skipped, end);
    this.offset = end;
    return text;
  }

  /** The bytes of a value that has a length. */
  readBytes(): Buffer {
    const end = this.readEndOffset();
    const bytes = this.bytes.subarray(this.offset, end);
    this.offset = end;
    return bytes;
  }

  skipValue(): void {
    switch (this.#wire) {
      case WIRE_TYPES.varint:
        this.#varint();
        break;
      case WIRE_TYPES.fixed64:
        this.offset += 8;
        break;
      case WIRE_TYPES.bytes:
        this.offset = this.readEndOffset();
        break;
      case WIRE_TYPES.fixed32:
        this.offset += 4;
        break;
      default:
        throw malformedMessage();
    }
  }

  /** A number of up to 64 bits, of which the lower 32 are right: all that tags and lengths have. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.offset];
      if (byte === undefined) break;
      this.offset += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformedMessage();
  }
}

const malformedMessage = () => new Error('Firestore sent a message that cannot be read');
