import * as z from 'zod';
import { isDocumentId } from '../src/lib/document-id';
import type { ListIds } from '../src/lib/repositories/lists';
import { FAILURE_CAUSES, type KeyLists, type KeyRecord } from '../src/lib/schemas/key-record';

/** The lists of an attempt. The request record of an earlier attempt does not hold the fields of its market. */
export type AttemptLists = Pick<KeyLists, keyof ListIds | 'currency' | 'currency_differs'> & {
  market_name?: string | null;
  market_iso?: string | null;
};

/** An attempt as a key record describes its present one, or as the request record describes an earlier one. */
export type AttemptFacts = Pick<
  KeyRecord,
  | 'boq_list_id'
  | 'document_id'
  | 'status'
  | 'fingerprint'
  | 'products_count'
  | 'market_id'
  | 'name'
  | 'date'
  | 'claimed_at'
  | 'updated_at'
  | 'trace_id'
  | 'key_id'
  | 'response'
  | 'failure'
  | 'failure_cause'
  | 'actions'
> & { lists: AttemptLists | null };

const text = z.string();
const listId = text.refine(isDocumentId).nullable();

/** The request record of a released attempt (docs/data-model.md#written-by-add-price-lists). */
const releasedRequestSchema = z.object({
  info: z.object({ boq_list_id: text, name: text, date: text }),
  trace_id: text.nullable(),
  key_id: text,
  products_count: z.int(),
  fingerprint: text,
  market_id: text,
  currency_differs: z.boolean(),
  currency: text.nullable(),
  expected_forward_cost_id: listId,
  price_list_id: listId,
  created_at: z.int(),
  released: z.object({
    at: z.int(),
    failure: text.nullable(),
    failure_cause: z.enum(FAILURE_CAUSES).nullable(),
    actions: z.array(z.custom<KeyRecord['actions'][number]>()),
  }),
});

/** Returns the earlier attempt that a request record describes; undefined if the record is damaged. */
export function parseReleasedAttempt(document_id: string, stored: unknown): AttemptFacts | undefined {
  const { data } = releasedRequestSchema.safeParse(stored);
  if (data === undefined) return undefined;
  const { info, released, created_at: claimed_at, currency, currency_differs, ...facts } = data;
  const { expected_forward_cost_id, price_list_id } = facts;
  const hasLists = expected_forward_cost_id !== null && price_list_id !== null && currency !== null;
  return {
    ...facts,
    ...info,
    ...released,
    document_id,
    status: 'released',
    claimed_at,
    updated_at: released.at,
    response: null,
    lists: hasLists ? { expected_forward_cost_id, price_list_id, currency, currency_differs } : null,
  };
}
