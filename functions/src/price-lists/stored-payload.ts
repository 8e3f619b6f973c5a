import type { Database } from '../lib/firestore/database';
import { parseText } from '../lib/json/body-parser';
import { readPayloadChunks } from '../lib/repositories/stored-price-lists';
import type { Attempt } from '../lib/schemas/key-record';
import { computeFingerprint, decompressChunks } from './payload';
import { createPriceListParser, type PriceListSubmission } from './submission-parser';

/** A stored payload as it was accepted, or why it cannot be used. */
export type StoredPayload =
  | { kind: 'valid'; submission: PriceListSubmission; text: Buffer }
  /** With how many chunks are stored. */
  | { kind: 'invalid'; reason: string; chunks: number };

/** Reads the payload of an attempt, in one try, and checks it against its fingerprint. */
export const readStoredPayload = async (db: Database, attempt: Attempt): Promise<StoredPayload> =>
  parseStoredPayload(await readPayloadChunks(db, attempt), attempt);

/** Checks the stored chunks of an attempt against its fingerprint. */
export async function parseStoredPayload(
  chunks: readonly Buffer[],
  attempt: Pick<Attempt, 'payload_chunks' | 'fingerprint'>,
): Promise<StoredPayload> {
  if (chunks.length !== attempt.payload_chunks) {
    const reason = `only ${chunks.length} of its ${attempt.payload_chunks} chunks were stored`;
    return { kind: 'invalid', reason, chunks: chunks.length };
  }
  try {
    const text = await decompressChunks(chunks);
    const submission = parseText(createPriceListParser(), text.toString());
    if (computeFingerprint(submission) === attempt.fingerprint) return { kind: 'valid', submission, text };
  } catch {
    // Damaged. As with another fingerprint, the stored payload is not the accepted one.
  }
  return { kind: 'invalid', reason: 'the stored payload is not the accepted one', chunks: chunks.length };
}
