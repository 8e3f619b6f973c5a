import { parseKeyRecord } from '../../../../src/lib/schemas/key-record';
import { createKeyRecord, TEST_LISTS } from '../../../support/key-records';

test('a record keeps the fields that a later version added to it and its nested objects, without `sweep_due_at`', () => {
  const added = { added_later: { a: 1 } };
  const lists = { ...TEST_LISTS, ...added };
  const record = createKeyRecord({ lists });
  const stored = {
    ...record,
    ...added,
    lists,
    progress: { entries_written: 1, entries_total: 2, started_at: 3, measured_at: 4, ...added },
    history: [{ ...record, settled_at: 5, ...added }],
    actions: [{ action: 'resume', at: 6, by: 'operator', reason: null, ...added }],
  };
  expect(parseKeyRecord({ ...stored, sweep_due_at: 7 })).toEqual(stored);
});
