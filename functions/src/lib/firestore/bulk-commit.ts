import { getConnection } from './connection';
import { runOutsideDomain } from './node-domain';

/**
 * Sets many documents of one number each in one commit, the batches of entries. This file alone writes protobuf by hand:
 * with protobufjs a creation of 30,000 products takes 13 % longer, 26 % more processor time and 18 MB more. The messages are
 * in https://github.com/googleapis/googleapis/tree/master/google/firestore/v1 (firestore, write and document.proto).
 */

/** Documents of one collection with one field, which holds a number. */
export interface NumberDocuments {
  /** Path of the collection. */
  collection: string;
  field: string;
  ids: readonly string[];
  /** The numbers in the order of the ids: finite and non-negative. */
  values: Float64Array;
}

/**
 * Replaces the documents, all of them or none, in one try of one call.
 *
 * @throws gRPC error; `DEADLINE_EXCEEDED` after `timeoutMs`
 */
export async function commitNumberDocuments(documents: NumberDocuments, timeoutMs: number): Promise<void> {
  const { client, databasePath, documentsPath, prepareCall } = await getConnection();
  const writer = encodeCommitRequest(databasePath, documentsPath, documents);
  const call = prepareCall('Commit', writer.finish(), timeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  runOutsideDomain(() => client.makeUnaryRequest(...call, (error, reply) => (error ? reject(error) : resolve(reply))));
  await promise;
  if (bufferPool.length < MAX_POOLED_BUFFERS) bufferPool.push(writer.buffer);
}

/**
 * Buffers of acknowledged requests, kept for reuse. grpc-js retains each message until the next major garbage collection:
 * some 25 MB in a creation of 100,000 products.
 */
const bufferPool: Buffer[] = [];

/** Two for each concurrent request of an instance. */
const MAX_POOLED_BUFFERS = 8;

/** Rounds sizes up, so that a buffer fits requests of nearly the same size. */
const BUFFER_SIZE_STEP = 32 * 1024;

function acquireBuffer(size: number): Buffer {
  const pooled = bufferPool.pop();
  return pooled !== undefined && pooled.length >= size
    ? pooled
    : Buffer.allocUnsafe(Math.ceil(size / BUFFER_SIZE_STEP) * BUFFER_SIZE_STEP);
}

/** Tags of fields: number and wire type. */
const COMMIT_DATABASE = 0x0a;
const COMMIT_WRITE = 0x12;
const WRITE_UPDATE = 0x0a;
const DOCUMENT_NAME = 0x0a;
const DOCUMENT_FIELD = 0x12;
const ENTRY_KEY = 0x0a;
const ENTRY_VALUE = 0x12;
const VALUE_INTEGER = 0x10;
const VALUE_DOUBLE = 0x19;

/** Upper bound of the tags and lengths of one write, and of its number. */
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
  const maxSize = sizes.reduce((sum, size) => sum + size + key.length + WRITE_OVERHEAD, head.length + WRITE_OVERHEAD);
  const writer = new ProtobufWriter(acquireBuffer(maxSize));
  writer.writeTag(COMMIT_DATABASE, head.length);
  writer.writeRaw(head);
  for (const [i, id] of ids.entries()) {
    const nameSize = sizes[i] ?? 0;
    const value = values[i] ?? NaN;
    // Like the SDK: safe integers are stored as integers, all other numbers as doubles.
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
    writer.writeTag(ENTRY_KEY, key.length);
    writer.writeRaw(key);
    writer.writeTag(ENTRY_VALUE, valueSize);
    if (isInteger) writer.writeTag(VALUE_INTEGER, value);
    else writer.writeDouble(VALUE_DOUBLE, value);
  }
  return writer;
}

/** Writes a message into a buffer of sufficient size. */
class ProtobufWriter {
  #offset = 0;

  constructor(readonly buffer: Buffer) {}

  /** Writes a tag and a varint, which is an integer or the length of what follows. */
  writeTag(tag: number, integer: number): void {
    this.buffer[this.#offset++] = tag;
    // Not by bit operators, which have 32 bits.
    let rest = integer;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.buffer[this.#offset++] = (rest % 0x80) + 0x80;
    this.buffer[this.#offset++] = rest;
  }

  writeRaw(bytes: Buffer): void {
    this.#offset += bytes.copy(this.buffer, this.#offset);
  }

  writeString(text: string): void {
    this.#offset += this.buffer.write(text, this.#offset);
  }

  writeDouble(tag: number, value: number): void {
    this.buffer[this.#offset++] = tag;
    this.#offset = this.buffer.writeDoubleLE(value, this.#offset);
  }

  finish(): Buffer {
    return this.buffer.subarray(0, this.#offset);
  }
}

/** Size of a non-negative integer as a varint, in bytes. */
function varintSize(integer: number): number {
  let size = 1;
  for (let rest = integer; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}
