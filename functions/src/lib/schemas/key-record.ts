import * as z from 'zod';

/**
 * The record of an idempotency key, stored under the SHA-256 of its `boq_list_id`; see
 * docs/data-model.md. A stored record that does not parse is left unchanged. Requests for its key fail, and the
 * audit reports it. A schema that an older version of the service would misread needs a new `schema_version`.
 */

/** Keeps the fields that only a later version knows, because parts of a record are written back completely. */
const withUnknownFields = <T extends z.ZodObject>(schema: T): T => schema.loose() as unknown as T;

const text = z.string();
/** The range of `Date`. */
const MAX_TIME_MS = 8.64e15;
/** Integer Unix milliseconds, by Firestore's clock. */
const time = z.int().min(-MAX_TIME_MS).max(MAX_TIME_MS);

/** The two lists of an attempt, and their market as the claim read it. Later changes to the market have no effect. */
const claimedListsSchema = withUnknownFields(
  z.object({
    expected_forward_cost_id: text,
    price_list_id: text,
    market_name: text.nullable(),
    market_iso: text.nullable(),
    currency: text,
    /** Whether the request has a currency other than `currency`. Its prices are stored without conversion. */
    currency_differs: z.boolean(),
  }),
);

/** One attempt, with the values that its claim set. Only `owner` and `lease_expires_at` change later. */
const attemptSchema = z.object({
  /** Random id of the request or resume that carries out the attempt. Empty after an event has expired the lease. */
  owner: text,
  /** While the attempt is in progress, nobody else can take it over before this time. Renewals extend the lease. */
  lease_expires_at: time,
  fingerprint: text,
  products_count: z.int(),
  payload_chunks: z.int(),
  market_id: text,
  document_id: text,
  lists: claimedListsSchema.nullable(),
  claimed_at: time,
  trace_id: text.nullable(),
  key_id: text,
});

/** A released attempt, kept in the history when its key is claimed again. */
const archivedAttemptSchema = attemptSchema.extend({
  settled_at: time,
  response: text.nullable(),
  failure: text.nullable(),
});

const operatorActionSchema = z.object({
  action: z.enum(['resume', 'release']),
  at: time,
  by: text,
  reason: text.nullable(),
});

/** Progress of the attempt at the last renewal of its lease. */
const progressSchema = z.object({
  entries_written: z.int(),
  entries_total: z.int(),
});

/** All except `error` are transient: the cause may be gone when the attempt is resumed. */
export const FAILURE_CAUSES = ['lease_expired', 'stopped', 'timeout', 'unavailable', 'error'] as const;

export const KEY_STATUSES = ['processing', 'completed', 'requires_review', 'released'] as const;

const keyRecordSchema = attemptSchema.extend({
  schema_version: z.literal(1),
  boq_list_id: text,
  status: z.enum(KEY_STATUSES),
  /** When an event other than a renewal last changed the record. */
  updated_at: time,
  response: text.nullable(),
  failure: text.nullable(),
  failure_cause: z.enum(FAILURE_CAUSES).nullable(),
  progress: withUnknownFields(progressSchema).nullable(),
  /** Number of resumes by the sweep since the claim or the last resume by a person, without those that were stopped. */
  automatic_resumes: z.int(),
  history: z.array(withUnknownFields(archivedAttemptSchema)),
  actions: z.array(withUnknownFields(operatorActionSchema)),
});

export type ClaimedLists = z.output<typeof claimedListsSchema>;
export type Attempt = z.output<typeof attemptSchema>;
export type ArchivedAttempt = z.output<typeof archivedAttemptSchema>;
export type OperatorAction = z.output<typeof operatorActionSchema>;
export type Progress = z.output<typeof progressSchema>;
export type FailureCause = (typeof FAILURE_CAUSES)[number];
export type KeyRecord = z.output<typeof keyRecordSchema>;

/** Returns the facts that the log and the request record show (docs/api.md#behaviour-of-add-price-lists). */
export const getMarketFacts = ({ lists }: Pick<Attempt, 'lists'>) => ({
  market_found: lists !== null,
  currency_differs: lists?.currency_differs ?? false,
});

export type MarketFacts = ReturnType<typeof getMarketFacts>;

/** Leaves out `sweep_due_at`, which is computed from the record. */
const parse = ({ sweep_due_at, ...record }: Readonly<Record<string, unknown>>) =>
  withUnknownFields(keyRecordSchema).safeParse(record);

/** @returns undefined for a record that does not parse, such as one with a later `schema_version` */
export const parseKeyRecord = (stored: Readonly<Record<string, unknown>>): KeyRecord | undefined => parse(stored).data;

/** @throws Error for a record that does not parse; its message names fields, but no values */
export function requireKeyRecord(stored: Readonly<Record<string, unknown>>): KeyRecord {
  const { data, error } = parse(stored);
  if (data !== undefined) return data;
  const invalid = error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new Error(`the record of the key cannot be read as schema version 1, because of: ${invalid}`);
}
