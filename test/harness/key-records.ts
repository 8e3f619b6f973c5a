import {
  keyDocumentId,
  parseKeyRecord,
  type KeyLists,
  type KeyRecord,
} from '../../functions/src/lib/schemas/key-record';

export const TEST_LISTS: KeyLists = {
  expected_forward_cost_id: 'cost-list',
  price_list_id: 'price-list',
  market_name: 'Egypt',
  market_iso: 'EGY',
  currency: 'EGP',
  currency_differs: true,
};

/** Parses a stored record. @throws Error if the record is unreadable */
export function requireKeyRecord(stored: Readonly<Record<string, unknown>>): KeyRecord {
  const record = parseKeyRecord(stored, keyDocumentId(String(stored['boq_list_id'])));
  if (record === undefined) throw new Error(`the record of ${String(stored['boq_list_id'])} is unreadable`);
  return record;
}

/** Creates the record of a key whose attempt is in progress and has no lists. `fields` replace its values. @throws Error if the record is unreadable */
export function createKeyRecord(fields: Partial<KeyRecord> = {}): KeyRecord {
  const record: KeyRecord = {
    schema_version: 1,
    boq_list_id: 'boq-1',
    owner: 'owner',
    lease_expires_at: 60_000,
    fingerprint: 'fingerprint',
    products_count: 1,
    market_id: 'market-1',
    name: 'June',
    date: '06/2026',
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
    failed_tries: 0,
    actions: [],
    ...fields,
  };
  requireKeyRecord(record);
  return record;
}

export const processing = createKeyRecord();
export const failed = createKeyRecord({
  status: 'requires_review',
  failure: 'the time is up',
  failure_cause: 'timeout',
  failed_tries: 1,
  lease_expires_at: 1,
});
export const completed = createKeyRecord({ status: 'completed', response: '{}' });
export const released = createKeyRecord({ status: 'released', failure: 'the time is up', failure_cause: 'timeout' });
