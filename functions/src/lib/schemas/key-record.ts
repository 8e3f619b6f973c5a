import * as z from 'zod';
import { sha256 } from '../sha256';
import { isDocumentId } from '../document-id';
import { listInfoSchema } from './info';

/**
 * The record of an idempotency key: its state and its current attempt (docs/data-model.md#key-record). The request
 * record of an earlier attempt says what became of that attempt.
 *
 * A stored record that this schema rejects is unreadable. The service never changes such a record, except that the sweep
 * removes its `sweep_due_at`. A schema that an older version would misread needs a new `schema_version`.
 */

export const keyDocumentId = (boqListId: string): string => sha256(boqListId).toString('hex');

const text = z.string();
const documentId = z.string().refine(isDocumentId);
/** The range of `Date`. */
const MAX_TIME_MS = 8.64e15;
/** Integer Unix milliseconds, by Firestore's clock. */
const time = z.int().min(-MAX_TIME_MS).max(MAX_TIME_MS);

/** The two lists of an attempt, and their market as the claim read it. Later changes to the market have no effect. */
const keyListsSchema = z.object({
  expected_forward_cost_id: documentId,
  price_list_id: documentId,
  market_name: text.nullable(),
  market_iso: text.nullable(),
  currency: text,
  /** Whether the request named a currency other than `currency`. Its prices are stored without conversion. */
  currency_differs: z.boolean(),
});

const operatorActionSchema = z.object({
  action: z.enum(['resume', 'release']),
  at: time,
  by: text,
  reason: text.nullable(),
});

/** `IS_TRANSIENT` in price-lists/schedule.ts says after which causes the sweep can resume an attempt. */
export const FAILURE_CAUSES = ['lease_expired', 'stopped', 'timeout', 'unavailable', 'error'] as const;

export const KEY_STATUSES = ['processing', 'completed', 'requires_review', 'released'] as const;

/** What a claim contains. Its attempt keeps all these values except `owner`. */
const claimSchema = listInfoSchema.extend({
  boq_list_id: text,
  /**
   * Random id of the request or resume that carries out the attempt. Empty after a commit that found an expired
   * lease and did not resume the attempt.
   */
  owner: text,
  fingerprint: text,
  products_count: z.int(),
  document_id: documentId,
  lists: keyListsSchema.nullable(),
  trace_id: text.nullable(),
  /** Name of the API key of the request. */
  key_id: text,
});

const keyRecordSchema = claimSchema
  .extend({
    schema_version: z.literal(1),
    status: z.enum(KEY_STATUSES),
    claimed_at: time,
    /** When an event other than a renewal last changed the record. */
    updated_at: time,
    /** While the attempt is in progress, only its owner can change the key before this time. Renewals extend the lease. */
    lease_expires_at: time,
    response: text.nullable(),
    failure: text.nullable(),
    failure_cause: z.enum(FAILURE_CAUSES).nullable(),
    /** Number of tries that failed since the claim or the last resume by an operator. A stop does not count. */
    failed_tries: z.int().nonnegative(),
    actions: z.array(operatorActionSchema),
  })
  .refine(({ status, response }) => (status === 'completed') === (response !== null))
  .refine(
    ({ status, failure, failure_cause }) =>
      status !== 'requires_review' || (failure !== null && failure_cause !== null),
  );

export type Claim = z.output<typeof claimSchema>;
export type KeyLists = z.output<typeof keyListsSchema>;
export type KeyRecord = z.output<typeof keyRecordSchema>;
export type KeyStatus = KeyRecord['status'];
export type OperatorAction = z.output<typeof operatorActionSchema>;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

/**
 * @param id of the document
 * @returns undefined for an unreadable record, such as one under the hash of another key
 */
export function parseKeyRecord(stored: unknown, id: string): KeyRecord | undefined {
  const { data } = keyRecordSchema.safeParse(stored);
  return data?.boq_list_id !== undefined && keyDocumentId(data.boq_list_id) === id ? data : undefined;
}
