import { asItIs, connected, deadlineIn, pathOf } from './connection';
import { outsideDomain } from './domain';
import { varintSize, writeVarint } from './encoding';

/**
 * Sets many small documents in one call, at a fraction of what the library's batch costs (docs/performance.md): the bytes
 * of `google.firestore.v1.CommitRequest` are written straight from the values
 * (https://protobuf.dev/programming-guides/encoding, and Google's firestore.proto, write.proto, document.proto).
 */

/** Documents of one collection, each of one field that holds a number. */
export interface Numbers {
  /** The path of the collection. */
  collection: string;
  field: string;
  ids: readonly string[];
  /** At the place of an id its number: finite, from nought on. */
  values: Float64Array;
}

/**
 * Sets the documents to exactly what is given, whatever was there before: all of them, or none. One call, tried once.
 *
 * @throws the call's error; after {@link ms} milliseconds DEADLINE_EXCEEDED
 */
export async function setNumbers(numbers: Numbers, ms: number): Promise<void> {
  const { client, database, documents, headers } = await connected();
  const resource = headers(`database=${encodeURIComponent(database)}`);
  const message = encodeCommit(database, documents, numbers);
  const request = message.written();
  await new Promise<void>((resolve, reject) => {
    outsideDomain(() =>
      client.makeUnaryRequest(pathOf('Commit'), asItIs, asItIs, request, resource, deadlineIn(ms), (error) => {
        if (error === null) resolve();
        else reject(error);
      }),
    );
  });
  if (spare.length < MOST_SPARE) spare.push(message.buffer);
}

/**
 * The bytes of messages that were answered well, so that Firestore has them whole, to be written over. The library holds on to
 * a message until the next large collection of garbage: some 25 MB of those of 100,000 products.
 */
const spare: Buffer[] = [];

/** Two for each of the requests that an instance serves at once. */
const MOST_SPARE = 8;

/** What the size of such bytes is a multiple of, so that they do for messages that are nearly alike. */
const BLOCK = 32 * 1024;

/** Bytes to write a message of at most that size into. */
function bytesFor(size: number): Buffer {
  const bytes = spare.pop();
  return bytes !== undefined && bytes.length >= size ? bytes : Buffer.allocUnsafe(Math.ceil(size / BLOCK) * BLOCK);
}

/** Tags of the fields that are written: a field's number and how its value is. */
const COMMIT_DATABASE = 0x0a;
const COMMIT_WRITE = 0x12;
const WRITE_UPDATE = 0x0a;
const DOCUMENT_NAME = 0x0a;
const DOCUMENT_FIELD = 0x12;
const ENTRY_KEY = 0x0a;
const ENTRY_VALUE = 0x12;
const VALUE_INTEGER = 0x10;
const VALUE_DOUBLE = 0x19;

/** More than the tags and lengths of one write, and its number, can take. */
const WRITE_OVERHEAD = 64;

function encodeCommit(database: string, documents: string, { collection, field, ids, values }: Numbers): Writer {
  const prefix = Buffer.from(`${documents}/${collection}/`);
  const key = Buffer.from(field);
  const head = Buffer.from(database);
  const sizes = ids.map((id) => prefix.length + Buffer.byteLength(id));
  const most = sizes.reduce((sum, size) => sum + size + key.length + WRITE_OVERHEAD, head.length + WRITE_OVERHEAD);
  const writer = new Writer(bytesFor(most));
  writer.bytes(COMMIT_DATABASE, head);
  for (const [i, id] of ids.entries()) {
    const nameSize = sizes[i] ?? 0;
    const value = values[i] ?? NaN;
    // As the library has it: an integer that JavaScript holds exactly is one, every other number is a double.
    const isInteger = Number.isSafeInteger(value);
    const valueSize = isInteger ? 1 + varintSize(value) : 9;
    const entrySize = 1 + varintSize(key.length) + key.length + 1 + varintSize(valueSize) + valueSize;
    const documentSize = 1 + varintSize(nameSize) + nameSize + 1 + varintSize(entrySize) + entrySize;
    writer.open(COMMIT_WRITE, 1 + varintSize(documentSize) + documentSize);
    writer.open(WRITE_UPDATE, documentSize);
    writer.open(DOCUMENT_NAME, nameSize);
    writer.raw(prefix);
    writer.text(id);
    writer.open(DOCUMENT_FIELD, entrySize);
    writer.bytes(ENTRY_KEY, key);
    writer.open(ENTRY_VALUE, valueSize);
    if (isInteger) writer.open(VALUE_INTEGER, value);
    else writer.double(VALUE_DOUBLE, value);
  }
  return writer;
}

/** A message that is being written, into bytes that are enough for it. */
class Writer {
  #at = 0;

  constructor(readonly buffer: Buffer) {}

  /** A tag with a varint: an integer, or the length of what comes next. */
  open(tag: number, integer: number): void {
    this.buffer[this.#at++] = tag;
    this.#at = writeVarint(this.buffer, this.#at, integer);
  }

  bytes(tag: number, bytes: Buffer): void {
    this.open(tag, bytes.length);
    this.raw(bytes);
  }

  raw(bytes: Buffer): void {
    this.#at += bytes.copy(this.buffer, this.#at);
  }

  text(text: string): void {
    this.#at += this.buffer.write(text, this.#at);
  }

  double(tag: number, value: number): void {
    this.buffer[this.#at++] = tag;
    this.#at = this.buffer.writeDoubleLE(value, this.#at);
  }

  written(): Buffer {
    return this.buffer.subarray(0, this.#at);
  }
}
