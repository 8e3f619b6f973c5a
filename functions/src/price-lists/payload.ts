import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { sha256 } from '../lib/sha256';
import { ApiError, LoggableError, PayloadTooLargeError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { scanJson } from '../lib/json';
import { MAX_CANONICAL_BYTES, MAX_PRODUCTS } from '../lib/payload-limits';
import { readPayloadChunks } from '../lib/repositories/request-records';
import { takeTurn } from '../lib/turn';
import {
  getPrices,
  infoSchema,
  parsePriceLists,
  priceListsShape,
  type PriceListInfo,
  type PriceListSubmission,
} from '../lib/schemas/add-price-lists';
import type { KeyRecord } from '../lib/schemas/key-record';

/**
 * Limit of a compressed payload, because the commit of a claim holds all chunks and up to 150 KB of records, and Firestore
 * allows 10 MiB for a commit.
 */
export const MAX_STORED_BYTES = 9 * 1024 * 1024;

/** About how many characters to hash or compress at a time, because V8 frees much longer strings late. */
const PART_CHARACTERS = 16 * 1024;

/**
 * Yields the canonical JSON of a submission in parts. Equal submissions have the same text: members are in code-unit order,
 * numbers in JavaScript's format, and currency codes in uppercase. So `1` and `1.0`, or `usd` and `USD`, make no
 * difference, but ids such as `a` and `A` do.
 */
export function* streamCanonicalJson({ info, products }: PriceListSubmission): Generator<Buffer, undefined> {
  let part = `{"info":${toCanonicalInfo(info)},"products":{`;
  let separator = '';
  for (const id of products.ids) {
    const { expected_forward_cost_price, price_list_price } = getPrices(products, id);
    part += `${separator}${JSON.stringify(id)}:{"expected_forward_cost_price":${expected_forward_cost_price},"price_list_price":${price_list_price}}`;
    separator = ',';
    if (part.length < PART_CHARACTERS) continue;
    yield Buffer.from(part);
    part = '';
  }
  yield Buffer.from(`${part}}}`);
}

const INFO_KEYS = Object.keys(infoSchema.shape).sort();

/** Leaves out absent fields, so an optional field that is added later changes no earlier fingerprint. */
const toCanonicalInfo = (info: PriceListInfo): string => JSON.stringify(info, INFO_KEYS);

/** Returns the lowercase hex SHA-256 of the canonical JSON. @throws PayloadTooLargeError */
export function computeFingerprint(submission: PriceListSubmission): string {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const part of streamCanonicalJson(submission)) {
    bytes += part.length;
    if (bytes > MAX_CANONICAL_BYTES) throw new PayloadTooLargeError('canonical', MAX_CANONICAL_BYTES);
    hash.update(part);
  }
  return hash.digest('hex');
}

/** Returns the canonical JSON, compressed with gzip, in chunks. @throws PayloadTooLargeError */
export async function compressToChunks(submission: PriceListSubmission, chunkBytes: number): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let bytes = 0;
  await pipeline(streamCanonicalJson(submission), createGzip(), async (packed: AsyncIterable<Buffer>) => {
    for await (const part of packed) {
      bytes += part.length;
      if (bytes > MAX_STORED_BYTES) throw new PayloadTooLargeError('compressed', MAX_STORED_BYTES);
      parts.push(part);
    }
  });
  const all = Buffer.concat(parts);
  const count = Math.ceil(bytes / chunkBytes);
  return Array.from({ length: count }, (_, i) => all.subarray(i * chunkBytes, (i + 1) * chunkBytes));
}

export class UnusablePayloadError extends LoggableError {
  override readonly name = 'UnusablePayloadError';
}

const inflate = promisify(gunzip);

export interface StoredSubmission extends PriceListSubmission {
  chunkCount: number;
}

/**
 * Reads the accepted payload of an attempt.
 *
 * @throws UnusablePayloadError if the stored payload itself cannot be used; any other error says nothing about the payload
 */
export async function readStoredPayload(db: Database, attempt: AcceptedPayload): Promise<StoredSubmission> {
  try {
    const { body, chunkCount } = await readAcceptedBody(db, attempt);
    await takeTurn();
    return { ...parsePriceLists(body), chunkCount };
  } catch (error) {
    // Because the fingerprint matches, the service accepted this text earlier, by other rules.
    if (error instanceof ApiError)
      throw new UnusablePayloadError('the payload was accepted by a version with other rules');
    throw error;
  }
}

type AcceptedPayload = Pick<KeyRecord, 'document_id' | 'fingerprint'>;

/**
 * Returns the values of the accepted payload. Separate from {@link readStoredPayload}, so that the bytes can be freed
 * before parsePriceLists validates the values.
 */
async function readAcceptedBody(db: Database, { document_id, fingerprint }: AcceptedPayload) {
  const chunks = await readPayloadChunks(db, document_id);
  if (chunks === undefined || chunks.length === 0) throw new UnusablePayloadError('payload chunks are missing');
  // With a `chunkSize` as large as the result can be, zlib fills one buffer, instead of many that it has to join.
  const limits = { maxOutputLength: MAX_CANONICAL_BYTES, chunkSize: MAX_CANONICAL_BYTES };
  const bytes = await inflate(Buffer.concat(chunks), limits).catch(throwUnusable);
  if (sha256(bytes).toString('hex') !== fingerprint) {
    throw new UnusablePayloadError('the payload is not the accepted one, because its fingerprint differs');
  }
  return { body: scanJson(bytes, priceListsShape, MAX_PRODUCTS), chunkCount: chunks.length };
}

/**
 * @throws UnusablePayloadError for `ERR_BUFFER_TOO_LARGE` or a code of zlib
 * (https://nodejs.org/api/zlib.html#constants); otherwise the same error
 */
function throwUnusable(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_BUFFER_TOO_LARGE')
    throw new UnusablePayloadError('the payload inflates to more bytes than an accepted one can have');
  if (code === 'Z_BUF_ERROR') throw new UnusablePayloadError('the end of the payload is missing');
  if (String(code).startsWith('Z_')) throw new UnusablePayloadError(`the payload is damaged (${String(code)})`);
  throw error;
}
