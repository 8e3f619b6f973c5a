import { keyDocumentId, parseKeyRecord } from '../../../../src/lib/schemas/key-record';
import { completed, createKeyRecord, failed, TEST_LISTS } from '../../../../../test/harness/key-records';

const ID = keyDocumentId('boq-1');

test('the document id of a key record is the SHA-256 of its key', () => {
  expect(keyDocumentId('Größe 1 ')).toBe('ac14a6416f679b825e47d0b209df989b77d0eb149f2d911a9bfabf4d40876908');
});

test('a valid record is read as it is stored', () => {
  const record = createKeyRecord({ lists: TEST_LISTS });
  expect(parseKeyRecord(record, ID)).toEqual(record);
});

test.each<[string, object]>([
  ['of a newer schema', { schema_version: 2 }],
  ['under the hash of another key', { boq_list_id: 'boq-2' }],
  ['whose document id is a path', { document_id: 'a/b' }],
  ['whose list id is empty', { lists: { ...TEST_LISTS, expected_forward_cost_id: '' } }],
  ['whose list id is reserved', { lists: { ...TEST_LISTS, price_list_id: '__x__' } }],
  ['whose lease is unknown (powertools-lambda-typescript #5678)', { lease_expires_at: null }],
  ['whose lease end is not an integer', { lease_expires_at: 0.5 }],
  ['whose lease ends after the last Date', { lease_expires_at: 8.64e15 + 1 }],
  ['whose claim time is a string', { claimed_at: '0' }],
  ['with a negative number of failed tries', { failed_tries: -1 }],
  ['that is completed without a response', { ...completed, response: null }],
  ['that is not completed but has a response', { ...failed, response: '{}' }],
  ['that requires review but has no failure cause', { ...failed, failure_cause: null }],
  ['that requires review but has no failure', { ...failed, failure: null }],
  ['with an action of an unknown kind', { actions: [{ action: 'undo', at: 0, by: 'ada', reason: null }] }],
])('a record %s is unreadable', (_, fields) => {
  expect(parseKeyRecord({ ...createKeyRecord(), ...fields }, ID)).toBeUndefined();
});
