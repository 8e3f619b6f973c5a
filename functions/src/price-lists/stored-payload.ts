import type { Database } from '../lib/firestore/database';
import { ApiError } from '../lib/errors';
import { JsonSyntaxError, parseText } from '../lib/json/body-parser';
import { readPayloadChunks } from '../lib/repositories/stored-price-lists';
import type { Attempt } from '../lib/schemas/key-record';
import { computeFingerprint, decompressChunks, FINGERPRINT_VERSION } from './payload';
import { createPriceListParser, type PriceListSubmission } from './submission-parser';

/** A stored payload as it was accepted, or why it cannot be used. */
export type StoredPayload =
  | { kind: 'valid'; submission: PriceListSubmission; text: Buffer }
  /** With how many chunks are stored. */
  | { kind: 'invalid'; reason: string; chunks: number };

/** Reads the payload of an attempt, in one try, and checks it against its fingerprint. */
export const readStoredPayload = async (db: Database, attempt: Attempt): Promise<StoredPayload> =>
  parseStoredPayload(await readPayloadChunks(db, attempt), attempt);

/**
 * Checks the stored chunks of an attempt against its fingerprint.
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
    return invalid(`${chunks.length} of its ${attempt.payload_chunks} chunks are stored`);
  }
  try {
    const text = await decompressChunks(chunks);
    const submission = parseText(createPriceListParser(), text.toString());
    if (computeFingerprint(submission) === attempt.fingerprint) return { kind: 'valid', submission, text };
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
