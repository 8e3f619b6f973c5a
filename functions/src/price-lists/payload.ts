import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import type { PriceListInfo, PriceListSubmission } from '../lib/schemas/add-price-lists';

/**
 * Canonical JSON: the one text of all equal submissions. Keys are in code-unit order, numbers as JSON writes them, and
 * nothing else is in it. So neither the order of keys, nor `1` or `1.0`, nor `usd` or `USD` makes a difference, while `a`
 * and `A` do.
 */

/** Bytes of one stored chunk: a Firestore document holds at most 1 MiB, its name and field included. */
export const MAX_CHUNK_BYTES = 1_000_000;

/** Characters that are compressed at a time. */
const TEXT_CHUNK_CHARACTERS = 64 * 1024;

/** The canonical JSON of a submission, in chunks. */
export function* canonicalJsonChunks({ info, products }: PriceListSubmission): Generator<string, undefined> {
  let chunk = `{"info":${canonicalInfo(info)},"products":{`;
  let separator = '';
  const { ids, prices } = products;
  for (const [i, id] of ids.entries()) {
    chunk += `${separator}${JSON.stringify(id)}:{"expected_forward_cost_price":${prices[2 * i]},"price_list_price":${prices[2 * i + 1]}}`;
    separator = ',';
    if (chunk.length >= TEXT_CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  yield `${chunk}}}`;
}

const canonicalInfo = ({ boq_list_id, currency_iso, date, market_id, name }: PriceListInfo): string =>
  JSON.stringify({ boq_list_id, currency_iso, date, market_id, name });

const PRODUCTS_PER_HASH_UPDATE = 1024;

/**
 * Computes what tells payloads apart: lowercase hex SHA-256 of the canonical info, then of the products in batches, ids as
 * JSON before prices as the 64 bits of each number. Two numbers have the same bits exactly if their JSON is the same, and
 * hashing bits is a fifth of the work of hashing digits.
 */
export function computeFingerprint({ info, products }: PriceListSubmission): string {
  const hash = createHash('sha256').update(canonicalInfo(info));
  const { ids, prices } = products;
  for (let start = 0; start < ids.length; start += PRODUCTS_PER_HASH_UPDATE) {
    const end = start + PRODUCTS_PER_HASH_UPDATE;
    hash.update(JSON.stringify(ids.slice(start, end))).update(prices.subarray(2 * start, 2 * end));
  }
  return hash.digest('hex');
}

/** The payload as it is stored: canonical JSON, gzip, in chunks of at most {@link MAX_CHUNK_BYTES}. */
export async function compressToChunks(submission: PriceListSubmission): Promise<Buffer[]> {
  const text = Readable.from(canonicalJsonChunks(submission), { objectMode: false });
  const gzip = text.compose(createGzip()) as Readable;
  const packed = Buffer.concat(await gzip.toArray());
  const starts = Array.from({ length: Math.ceil(packed.length / MAX_CHUNK_BYTES) }, (_, i) => i * MAX_CHUNK_BYTES);
  return starts.map((start) => packed.subarray(start, start + MAX_CHUNK_BYTES));
}

/** Returns the canonical JSON of a stored payload. @throws Error if a chunk is missing or damaged */
export const decompressChunks = (chunks: readonly Buffer[]): Promise<Buffer> =>
  promisify(gunzip)(Buffer.concat(chunks));
