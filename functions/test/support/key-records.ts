import { requireKeyRecord, type ClaimedLists, type KeyRecord } from '../../src/lib/schemas/key-record';

export const TEST_LISTS: ClaimedLists = {
  expected_forward_cost_id: 'cost-list',
  price_list_id: 'price-list',
  market_name: 'Egypt',
  market_iso: 'EGY',
  currency: 'EGP',
  currency_differs: true,
};

/** Creates the record of a key whose attempt is in progress and has no lists. `fields` replace its values. */
export const createKeyRecord = (fields: Partial<KeyRecord> = {}): KeyRecord =>
  requireKeyRecord({
    schema_version: 1,
    boq_list_id: 'boq-1',
    owner: 'owner',
    lease_expires_at: 60_000,
    fingerprint: 'fingerprint',
    products_count: 1,
    payload_chunks: 1,
    market_id: 'market-1',
    document_id: 'document',
    lists: null,
    claimed_at: 0,
    trace_id: null,
    key_id: 'api-key-1',
    status: 'processing',
    updated_at: 0,
    response: null,
    failure: null,
    failure_cause: null,
    progress: null,
    automatic_resumes: 0,
    history: [],
    actions: [],
    ...fields,
  });

export const processing = createKeyRecord();
export const failed = createKeyRecord({
  status: 'requires_review',
  failure: 'the time is up',
  failure_cause: 'timeout',
  lease_expires_at: 1,
});
export const completed = createKeyRecord({ status: 'completed', response: '{}' });
export const released = createKeyRecord({ status: 'released', failure: 'the time is up', failure_cause: 'timeout' });
