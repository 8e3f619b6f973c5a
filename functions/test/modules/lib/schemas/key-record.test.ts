import { parseKeyRecord } from '../../../../src/lib/schemas/key-record';
import { createKeyRecord, TEST_CREATION } from '../../../support/key-records';

test('a record keeps the fields that a later version added to it and its nested objects, without `sweep_due_at`', () => {
  const added = { added_later: { a: 1 } };
  const creation = { ...TEST_CREATION, ...added };
  const record = createKeyRecord({ creation });
  const stored = {
    ...record,
    ...added,
    creation,
    progress: { entries_written: 1, entries_total: 2, started_at: 3, measured_at: 4, ...added },
    history: [{ ...record, settled_at: 5, ...added }],
    actions: [{ action: 'resume', at: 6, by: 'operator', reason: null, ...added }],
  };
  expect(parseKeyRecord({ ...stored, sweep_due_at: 7 })).toEqual(stored);
});
