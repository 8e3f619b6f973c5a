import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip, createGzip } from 'node:zlib';
import { isDocumentId } from '../lib/document-id';
import { ApiError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { JsonSyntaxError } from '../lib/json/body-parser';
import { readPayloadChunks } from '../lib/repositories/price-lists';
import { infoSchema, type PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt } from '../lib/schemas/key-record';
import { createPriceListParser, type PriceListSubmission } from './submission-parser';

/** A Firestore document holds at most 1 MiB, including its name. */
export const MAX_CHUNK_BYTES = 1_000_000;

/** A commit holds at most 10 MiB, and the key record can be as large as 1 MiB. */
export const MAX_CLAIM_CHUNKS = 9;

export class Payload {
  readonly fingerprint: string;
  #chunks: Promise<Buffer[]> | undefined;

  constructor(readonly submission: PriceListSubmission) {
    this.fingerprint = computeFingerprint(submission);
  }

  /** Compresses the submission when first called, because a replay needs no chunks. */
  getChunks(): Promise<readonly Buffer[]> {
    this.#chunks ??= compressToChunks(this.submission);
    return this.#chunks;
  }
}

/** About how many characters to hash, compress or inflate at a time. V8 frees much longer strings late. */
const TEXT_CHUNK_CHARACTERS = 16 * 1024;

/**
 * Yields the canonical JSON of a submission in chunks. Equal submissions have the same text: keys are in code-unit order,
 * numbers in JavaScript's format, and currency codes in uppercase. So `1` and `1.0`, or `usd` and `USD`, make no
 * difference, but ids such as `a` and `A` do.
 */
export function* streamCanonicalJson({ info, products }: PriceListSubmission): Generator<string, undefined> {
  let chunk = `{"info":${toCanonicalInfo(info)},"products":{`;
  let separator = '';
  const { ids, expectedForwardCostPrices, priceListPrices } = products;
  for (const [i, id] of ids.entries()) {
    const prices = `{"expected_forward_cost_price":${expectedForwardCostPrices[i]},"price_list_price":${priceListPrices[i]}}`;
    chunk += `${separator}${JSON.stringify(id)}:${prices}`;
    separator = ',';
    if (chunk.length >= TEXT_CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  yield `${chunk}}}`;
}

const INFO_KEYS = Object.keys(infoSchema.shape).sort();

/** Leaves out absent fields, so an optional field that is added later changes no earlier fingerprint. */
const toCanonicalInfo = (info: PriceListInfo): string => JSON.stringify(info, INFO_KEYS);

export function computeFingerprint(submission: PriceListSubmission): string {
  const hash = createHash('sha256');
  for (const text of streamCanonicalJson(submission)) hash.update(text);
  return hash.digest('hex');
}

/** Returns the stored form of a payload: canonical JSON, compressed with gzip, in chunks of at most 1 MB. */
export async function compressToChunks(submission: PriceListSubmission): Promise<Buffer[]> {
  const text = Readable.from(streamCanonicalJson(submission), { objectMode: false });
  const gzip = text.compose(createGzip()) as Readable;
  const packed = Buffer.concat(await gzip.toArray());
  const starts = Array.from({ length: Math.ceil(packed.length / MAX_CHUNK_BYTES) }, (_, i) => i * MAX_CHUNK_BYTES);
  return starts.map((start) => packed.subarray(start, start + MAX_CHUNK_BYTES));
}

export type StoredPayload =
  | { kind: 'valid'; submission: PriceListSubmission }
  /** `chunks`: the number of stored chunks. */
  | { kind: 'invalid'; reason: string; chunks: number };

export const readStoredPayload = async (db: Database, attempt: Attempt): Promise<StoredPayload> =>
  isDocumentId(attempt.document_id)
    ? parseStoredPayload(await readPayloadChunks(db, attempt), attempt)
    : { kind: 'invalid', reason: 'its document_id is not the id of a document', chunks: 0 };

/**
 * Checks the stored chunks of an attempt against its fingerprint. The text is parsed while it is
 * inflated, because a sweep holds several payloads in memory at once.
 *
 * @throws any error that does not come from the stored payload itself
 */
export async function parseStoredPayload(
  chunks: readonly Buffer[],
  attempt: Pick<Attempt, 'payload_chunks' | 'fingerprint'>,
): Promise<StoredPayload> {
  const invalid = (reason: string) => ({ kind: 'invalid', reason, chunks: chunks.length }) as const;
  if (chunks.length !== attempt.payload_chunks) {
    return invalid(`${chunks.length} chunks are stored instead of ${attempt.payload_chunks}`);
  }
  try {
    const parser = createPriceListParser();
    const decoder = new TextDecoder();
    const hash = createHash('sha256');
    const text = Readable.from(chunks).pipe(createGunzip({ chunkSize: TEXT_CHUNK_CHARACTERS }));
    for await (const bytes of text as AsyncIterable<Buffer>) {
      hash.update(bytes);
      parser.write(decoder.decode(bytes, { stream: true }));
    }
    const submission = parser.end();
    if (hash.digest('hex') === attempt.fingerprint) return { kind: 'valid', submission };
  } catch (error) {
    if (isZlibError(error) || error instanceof JsonSyntaxError) return invalid(`it is damaged: ${error.message}`);
    // A version with other rules for requests accepted this payload.
    if (error instanceof ApiError) return invalid('it was accepted by a version with other rules');
    throw error;
  }
  return invalid('it is not the accepted one: its fingerprint differs');
}

/** Node lists the error codes at https://nodejs.org/api/zlib.html#constants. */
const isZlibError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
