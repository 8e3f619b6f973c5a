import { z } from 'zod';

/**
 * The record of an idempotency key, stored under the SHA-256 of its `boq_list_id`.
 * A stored one that does not parse is never judged: its request fails, and an operator is told.
 */

const text = z.string();
/** Integer Unix milliseconds. */
const time = z.int();

/** The two lists of an attempt, and what its claim read of their market: a later change of it changes nothing here. */
const creationSchema = z.object({
  expected_forward_cost_id: text,
  price_list_id: text,
  market_name: text.nullable(),
  market_iso: text.nullable(),
  /** The market's, or the request's for a market without one. */
  currency: text,
});

/** What one accepted post set out to do, fixed by its claim. */
const attemptSchema = z.object({
  /** Random token of the process that carries the attempt out; a resume replaces it. */
  owner: text,
  /** Until then the owner may still be at work; from then on whoever meets the record settles it. */
  lease_expires_at: time,
  fingerprint: text,
  products_count: z.int(),
  /** How many chunks the stored payload has once it is whole. */
  payload_chunks: z.int(),
  market_id: text,
  /** The request record. */
  document_id: text,
  /** Null when no market matched. */
  creation: creationSchema.nullable(),
  claimed_at: time,
});

/** An attempt that came to nothing, kept for the audit when its key is claimed afresh. */
const archivedAttemptSchema = attemptSchema.extend({ settled_at: time, failure: text.nullable() });

/** What an operator did to a key. */
const operatorActionSchema = z.object({
  action: z.enum(['resume', 'release']),
  at: time,
  by: text,
  reason: text.nullable(),
});

export const keyRecordSchema = attemptSchema.extend({
  schema_version: z.literal(1),
  boq_list_id: text,
  status: z.enum(['processing', 'completed', 'requires_review', 'released']),
  /** When the status last changed. */
  updated_at: time,
  /** The answer, byte for byte, once completed. */
  response: text.nullable(),
  /** Why the attempt requires or required review: an internal text. */
  failure: text.nullable(),
  history: z.array(archivedAttemptSchema),
  actions: z.array(operatorActionSchema),
});

export type Creation = z.output<typeof creationSchema>;
export type Attempt = z.output<typeof attemptSchema>;
export type ArchivedAttempt = z.output<typeof archivedAttemptSchema>;
export type OperatorAction = z.output<typeof operatorActionSchema>;
export type KeyRecord = z.output<typeof keyRecordSchema>;

/**
 * The record of a key as it is stored.
 *
 * @throws Error for one that was not written by this version of the service or an older one; it names fields, never a value
 */
export function parseKeyRecord(stored: unknown): KeyRecord {
  const read = keyRecordSchema.safeParse(stored);
  if (read.success) return read.data;
  const fields = read.error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new Error(`the record of the key cannot be read as schema version 1, because of: ${fields}`);
}
