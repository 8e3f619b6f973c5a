import { getNextStep, type NextStep } from '../../cli/facts';
import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import { createKeyRecord, TEST_LISTS } from '../../../test/harness/key-records';

const failed = { status: 'requires_review', failure: 'x' } as const;
const completed = { status: 'completed', response: '{}' } as const;

const getStep = (record: Partial<KeyRecord>, sweepDueAt: number | null = 1, isPayloadUsable = true) =>
  getNextStep(
    { record: createKeyRecord(record), readAt: 60_000, sweepDueAt, reference: {} as never, version: undefined },
    isPayloadUsable,
  );

test.each<[state: string, record: Partial<KeyRecord>, next: NextStep]>([
  ['in progress', { lease_expires_at: 60_001 }, 'wait'],
  ['whose lease has expired', {}, 'sweep'],
  ['that crashed too often', { failed_tries: 3 }, 'resume'],
  ['that failed for a transient cause', { ...failed, failure_cause: 'timeout' }, 'sweep'],
  ['that failed for a permanent cause', { ...failed, failure_cause: 'error' }, 'resume'],
  ['that failed too often', { ...failed, failure_cause: 'timeout', failed_tries: 4 }, 'resume'],
  ['that is completed', { ...completed, lists: TEST_LISTS }, null],
  ['that is completed without lists', { ...completed, lists: null }, 'release'],
  ['that is released', { status: 'released' }, 'send'],
])('a key %s (%j) has the next step %j', (_, record, next) => expect(getStep(record)).toBe(next));

test('for a key that requires review, the next step is a resume if the sweep cannot find the key, and a release if its payload is unusable', () => {
  const record = { ...failed, failure_cause: 'timeout' } as const;
  expect(getStep(record, null)).toBe('resume');
  expect(getStep(record, 1, false)).toBe('release');
});
