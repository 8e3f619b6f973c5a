import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip, createGzip } from 'node:zlib';
import { ApiError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { JsonSyntaxError } from '../lib/json/body-parser';
import { readPayloadChunks } from '../lib/repositories/price-lists';
import type { PriceListInfo } from '../lib/schemas/add-price-lists';
import type { Attempt } from '../lib/schemas/key-record';
import { MAX_CHUNK_BYTES } from './commit-sizes';
import { createPriceListParser, type PriceListSubmission } from './submission-parser';

/** A submission as it is told apart from others, and as it is stored. */
export class Payload {
  readonly fingerprint: string;
  #chunks: Promise<Buffer[]> | undefined;

  constructor(readonly submission: PriceListSubmission) {
    this.fingerprint = computeFingerprint(submission);
  }

  /** Compresses the submission when first called: a replay needs no chunks. */
  getChunks(): Promise<readonly Buffer[]> {
    this.#chunks ??= compressToChunks(this.submission);
    return this.#chunks;
  }
}

/** Characters that are compressed at a time. */
const TEXT_CHUNK_CHARACTERS = 64 * 1024;

/**
 * Yields the canonical JSON of a submission, the one text of all equal submissions, in chunks. Keys
 * are in code-unit order, numbers as JSON writes them, and nothing else is in it. So neither the
 * order of keys, nor `1` or `1.0`, nor `usd` or `USD` makes a difference, while `a` and `A` do.
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

/** Every field of `info`, by the compiler's word: one that is left out would be neither stored nor told apart. */
const INFO_FIELDS = {
  boq_list_id: true,
  currency_iso: true,
  date: true,
  market_id: true,
  name: true,
} satisfies Record<keyof PriceListInfo, true>;

const INFO_KEYS = Object.keys(INFO_FIELDS).sort();

/** An optional field that is absent leaves the text as it was before the field existed. */
const toCanonicalInfo = (info: PriceListInfo): string => JSON.stringify(info, INFO_KEYS);

const PRODUCTS_PER_HASH_UPDATE = 1024;

/**
 * Which definition a fingerprint follows; records without it have 1. A later one is stored beside
 * the fingerprints that it defines, and an earlier one is computed again to compare a submission
 * with its records.
 */
export const FINGERPRINT_VERSION = 1;

/**
 * Computes what tells payloads apart, version 1: lowercase hex SHA-256 of the canonical info, then
 * of the products in batches, the ids as JSON before the prices, of each product first the cost.
 * Prices are hashed as 64 bits each, which is a fifth of the work of hashing digits: two numbers
 * have the same bits exactly if their JSON is the same.
 */
export function computeFingerprint({ info, products }: PriceListSubmission): string {
  const hash = createHash('sha256').update(toCanonicalInfo(info));
  const { ids, expectedForwardCostPrices, priceListPrices } = products;
  for (let start = 0; start < ids.length; start += PRODUCTS_PER_HASH_UPDATE) {
    const batch = ids.slice(start, start + PRODUCTS_PER_HASH_UPDATE);
    const pairs = new Float64Array(2 * batch.length);
    for (let i = 0; i < batch.length; i += 1) {
      pairs[2 * i] = expectedForwardCostPrices[start + i] ?? NaN;
      pairs[2 * i + 1] = priceListPrices[start + i] ?? NaN;
    }
    hash.update(JSON.stringify(batch)).update(pairs);
  }
  return hash.digest('hex');
}

/** The payload as it is stored: canonical JSON, gzip, in chunks of at most {@link MAX_CHUNK_BYTES}. */
export async function compressToChunks(submission: PriceListSubmission): Promise<Buffer[]> {
  const text = Readable.from(streamCanonicalJson(submission), { objectMode: false });
  const gzip = text.compose(createGzip()) as Readable;
  const packed = Buffer.concat(await gzip.toArray());
  const starts = Array.from({ length: Math.ceil(packed.length / MAX_CHUNK_BYTES) }, (_, i) => i * MAX_CHUNK_BYTES);
  return starts.map((start) => packed.subarray(start, start + MAX_CHUNK_BYTES));
}

/** Yields the canonical JSON of a stored payload in pieces. @throws Error of zlib if a chunk is missing or damaged */
export async function* streamStoredText(chunks: readonly Buffer[]): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const bytes = Readable.from(chunks).pipe(createGunzip({ chunkSize: TEXT_CHUNK_CHARACTERS }));
  for await (const piece of bytes as AsyncIterable<Buffer>) yield decoder.decode(piece, { stream: true });
}

/** A stored payload as it was accepted, or why it cannot be used. */
export type StoredPayload =
  | { kind: 'valid'; submission: PriceListSubmission }
  /** With how many chunks are stored. */
  | { kind: 'invalid'; reason: string; chunks: number };

/** Reads the payload of an attempt, in one try, and checks it against its fingerprint. */
export const readStoredPayload = async (db: Database, attempt: Attempt): Promise<StoredPayload> =>
  parseStoredPayload(await readPayloadChunks(db, attempt), attempt);

/**
 * Checks the stored chunks of an attempt against its fingerprint. The text, which is as large as
 * the submission, is parsed as it is inflated: a sweep resumes several at once.
 *
 * @throws any error that does not come from the stored payload itself
 */
export async function parseStoredPayload(
  chunks: readonly Buffer[],
  attempt: Pick<Attempt, 'payload_chunks' | 'fingerprint' | 'fingerprint_version'>,
): Promise<StoredPayload> {
  const invalid = (reason: string) => ({ kind: 'invalid', reason, chunks: chunks.length }) as const;
  if (attempt.fingerprint_version > FINGERPRINT_VERSION) return invalid('it was accepted by a later version');
  if (chunks.length !== attempt.payload_chunks) {
    return invalid(`${chunks.length} chunks are stored in place of ${attempt.payload_chunks}`);
  }
  try {
    const parser = createPriceListParser();
    for await (const text of streamStoredText(chunks)) parser.write(text);
    const submission = parser.end();
    if (computeFingerprint(submission) === attempt.fingerprint) return { kind: 'valid', submission };
  } catch (error) {
    if (isZlibError(error) || error instanceof JsonSyntaxError) return invalid(`it is damaged: ${error.message}`);
    // The rules of requests have changed since: what this version rejects was accepted then.
    if (error instanceof ApiError) return invalid('it was accepted by a version with other rules');
    throw error;
  }
  return invalid('it is not the accepted one: its fingerprint differs');
}

/** Codes of zlib's errors begin alike: https://nodejs.org/api/zlib.html#constants. */
const isZlibError = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && /^(Z_|ERR_BUFFER)/.test(String(error.code));
