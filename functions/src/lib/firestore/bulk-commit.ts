import { identity, getConnection, callOptions, methodPath } from './connection';
import { runOutsideDomain } from './node-domain';
import { varintSize, writeVarint } from './encoding';

/**
 * Sets many small documents in one call, at a fraction of what the library's batch costs (docs/performance.md): the bytes
 * of `google.firestore.v1.CommitRequest` are written straight from the values
 * (https://protobuf.dev/programming-guides/encoding, and Google's firestore.proto, write.proto, document.proto).
 */

/** Documents of one collection, each of one field that holds a number. */
export interface NumberDocuments {
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
export async function commitNumberDocuments(numbers: NumberDocuments, ms: number): Promise<void> {
  const { client, databasePath, documentsPath, createMetadata } = await getConnection();
  const resource = createMetadata(`database=${encodeURIComponent(databasePath)}`);
  const message = encodeCommitRequest(databasePath, documentsPath, numbers);
  const request = message.finish();
  await new Promise<void>((resolve, reject) => {
    runOutsideDomain(() =>
      client.makeUnaryRequest(methodPath('Commit'), identity, identity, request, resource, callOptions(ms), (error) => {
        if (error === null) resolve();
        else reject(error);
      }),
    );
  });
  if (bufferPool.length < MAX_POOLED_BUFFERS) bufferPool.push(message.buffer);
}

/**
 * The bytes of messages that were answered well, so that Firestore has them whole, to be written over. The library holds on to
 * a message until the next large collection of garbage: some 25 MB of those of 100,000 products.
 */
const bufferPool: Buffer[] = [];

/** Two for each of the requests that an instance serves at once. */
const MAX_POOLED_BUFFERS = 8;

/** What the size of such bytes is a multiple of, so that they do for messages that are nearly alike. */
const BUFFER_SIZE_STEP = 32 * 1024;

/** Bytes to write a message of at most that size into. */
function acquireBuffer(size: number): Buffer {
  const bytes = bufferPool.pop();
  return bytes !== undefined && bytes.length >= size
    ? bytes
    : Buffer.allocUnsafe(Math.ceil(size / BUFFER_SIZE_STEP) * BUFFER_SIZE_STEP);
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

function encodeCommitRequest(
  database: string,
  documents: string,
  { collection, field, ids, values }: NumberDocuments,
): ProtobufWriter {
  const prefix = Buffer.from(`${documents}/${collection}/`);
  const key = Buffer.from(field);
  const head = Buffer.from(database);
  const sizes = ids.map((id) => prefix.length + Buffer.byteLength(id));
  const most = sizes.reduce((sum, size) => sum + size + key.length + WRITE_OVERHEAD, head.length + WRITE_OVERHEAD);
  const writer = new ProtobufWriter(acquireBuffer(most));
  writer.bytes(COMMIT_DATABASE, head);
  for (const [i, id] of ids.entries()) {
    const nameSize = sizes[i] ?? 0;
    const value = values[i] ?? NaN;
    // As the library has it: an integer that JavaScript holds exactly is one, every other number is a double.
    const isInteger = Number.isSafeInteger(value);
    const valueSize = isInteger ? 1 + varintSize(value) : 9;
    const entrySize = 1 + varintSize(key.length) + key.length + 1 + varintSize(valueSize) + valueSize;
    const documentSize = 1 + varintSize(nameSize) + nameSize + 1 + varintSize(entrySize) + entrySize;
    writer.writeTag(COMMIT_WRITE, 1 + varintSize(documentSize) + documentSize);
    writer.writeTag(WRITE_UPDATE, documentSize);
    writer.writeTag(DOCUMENT_NAME, nameSize);
    writer.writeRaw(prefix);
    writer.writeString(id);
    writer.writeTag(DOCUMENT_FIELD, entrySize);
    writer.bytes(ENTRY_KEY, key);
    writer.writeTag(ENTRY_VALUE, valueSize);
    if (isInteger) writer.writeTag(VALUE_INTEGER, value);
    else writer.writeDouble(VALUE_DOUBLE, value);
  }
  return writer;
}

/** A message that is being written, into bytes that are enough for it. */
class ProtobufWriter {
  #at = 0;

  constructor(readonly buffer: Buffer) {}

  /** A tag with a varint: an integer, or the length of what comes next. */
  writeTag(tag: number, integer: number): void {
    this.buffer[this.#at++] = tag;
    this.#at = writeVarint(this.buffer, this.#at, integer);
  }

  bytes(tag: number, bytes: Buffer): void {
    this.writeTag(tag, bytes.length);
    this.writeRaw(bytes);
  }

  writeRaw(bytes: Buffer): void {
    this.#at += bytes.copy(this.buffer, this.#at);
  }

  writeString(text: string): void {
    this.#at += this.buffer.write(text, this.#at);
  }

  writeDouble(tag: number, value: number): void {
    this.buffer[this.#at++] = tag;
    this.#at = this.buffer.writeDoubleLE(value, this.#at);
  }

  finish(): Buffer {
    return this.buffer.subarray(0, this.#at);
  }
}
