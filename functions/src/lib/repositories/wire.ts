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
  const reader = new Reader(response);
  let document: StoredDocument | undefined;
  while (reader.at < response.length) {
    if (reader.field() === RESPONSE.document) document = readDocument(reader, parentBytes);
    else reader.skip();
  }
  return document;
}

/** Where a query has come to: enough to go on behind it. */
export interface Position {
  /** The full name of the document. */
  name: string;
  /** The value of the field that it is ordered by, as the bytes that it came in. */
  orderedBy: Buffer | undefined;
  /** When it was read, as the bytes that it came in. */
  readTime: Buffer;
}

/** The position of a response that has a document. @throws for bytes that are no such message */
export function decodePosition(response: Buffer, orderBy: string | undefined): Position {
  const reader = new Reader(response);
  let place: Omit<Position, 'readTime'> = { name: '', orderedBy: undefined };
  let readTime: Buffer = Buffer.alloc(0);
  while (reader.at < response.length) {
    switch (reader.field()) {
      case RESPONSE.document:
        place = readPlace(reader, orderBy);
        break;
      case RESPONSE.readTime:
        readTime = reader.raw();
        break;
      default:
        reader.skip();
    }
  }
  return { ...place, readTime };
}

function readPlace(reader: Reader, orderBy: string | undefined): Omit<Position, 'readTime'> {
  let name = '';
  let orderedBy: Buffer | undefined;
  for (const end = reader.end(); reader.at < end;) {
    switch (reader.field()) {
      case DOCUMENT.name:
        name = reader.text();
        break;
      case DOCUMENT.fields: {
        const [key, value] = readEntry(reader, readRaw);
        if (key === orderBy) orderedBy = value;
        break;
      }
      default:
        reader.skip();
    }
  }
  return { name, orderedBy };
}

function readDocument(reader: Reader, parentBytes: number): StoredDocument {
  let id = '';
  const fields = {};
  for (const end = reader.end(); reader.at < end;) {
    switch (reader.field()) {
      case DOCUMENT.name:
        id = reader.text(parentBytes);
        break;
      case DOCUMENT.fields:
        readFieldInto(fields, reader);
        break;
      default:
        reader.skip();
    }
  }
  return { id, fields };
}

function readMap(reader: Reader): StoredMap {
  const fields = {};
  for (const end = reader.end(); reader.at < end;) {
    if (reader.field() === MAP.fields) readFieldInto(fields, reader);
    else reader.skip();
  }
  return fields;
}

function readFieldInto(fields: Record<string, StoredValue>, reader: Reader): void {
  const [key, value] = readEntry(reader, readValue);
  // No answer has a field of this name, and to set it would be to set the prototype.
  if (key !== '__proto__') fields[key] = value;
}

/** An entry of a map: its key, and its value as it is to be read. */
function readEntry<T>(reader: Reader, readAs: (reader: Reader) => T): [key: string, value: T | undefined] {
  let key = '';
  let value: T | undefined;
  for (const end = reader.end(); reader.at < end;) {
    switch (reader.field()) {
      case ENTRY.key:
        key = reader.text();
        break;
      case ENTRY.value:
        value = readAs(reader);
        break;
      default:
        reader.skip();
    }
  }
  return [key, value];
}

const readRaw = (reader: Reader): Buffer => reader.raw();

function readValue(reader: Reader): StoredValue {
  let value: StoredValue;
  for (const end = reader.end(); reader.at < end;) {
    switch (reader.field()) {
      case VALUE.string:
        value = reader.text();
        break;
      case VALUE.map:
        value = readMap(reader);
        break;
      case VALUE.array:
        value = readArray(reader);
        break;
      default:
        reader.skip();
    }
  }
  return value;
}

function readArray(reader: Reader): StoredValue[] {
  const values: StoredValue[] = [];
  for (const end = reader.end(); reader.at < end;) {
    if (reader.field() === ARRAY.values) values.push(readValue(reader));
    else reader.skip();
  }
  return values;
}

/** How a field's value is written; the two kinds of group are of another age. */
const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** A place in a message. A field's number is read first, then its value, by exactly one of the other methods. */
class Reader {
  at = 0;
  #wire = 0;

  constructor(readonly bytes: Buffer) {}

  /** The number of the field that comes next. */
  field(): number {
    const tag = this.#varint();
    this.#wire = tag & 7;
    return tag >>> 3;
  }

  /** Where a value that has a length ends; the place is then its beginning. */
  end(): number {
    if (this.#wire !== WIRE.bytes) throw malformed();
    const end = this.#varint() + this.at;
    if (end > this.bytes.length) throw malformed();
    return end;
  }

  /** A string, without so many of its first bytes. */
  text(skipped = 0): string {
    const end = this.end();
    const text = this.bytes.toString('utf8', this.at + skipped, end);
    this.at = end;
    return text;
  }

  /** The bytes of a value that has a length. */
  raw(): Buffer {
    const end = this.end();
    const bytes = this.bytes.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  skip(): void {
    switch (this.#wire) {
      case WIRE.varint:
        this.#varint();
        break;
      case WIRE.fixed64:
        this.at += 8;
        break;
      case WIRE.bytes:
        this.at = this.end();
        break;
      case WIRE.fixed32:
        this.at += 4;
        break;
      default:
        throw malformed();
    }
  }

  /** A number of up to 64 bits, of which the lower 32 are right: all that tags and lengths have. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.at];
      if (byte === undefined) break;
      this.at += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformed();
  }
}

const malformed = () => new Error('Firestore sent a message that cannot be read');
