import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import {
  canResumeAutomatically,
  describeSweepObstacle,
  getAttemptWaitMs,
  getRecovery,
  getSweepDueAt,
} from '../../../src/price-lists/schedule';
import { completed, createKeyRecord, failed, processing, released } from '../../../../test/harness/key-records';

test.each([
  [1, 10_000],
  [1_999, 10_000],
  [2_000, 11_000],
  [109_999, 64_000],
  [110_000, 65_000],
  [364_000, 65_000],
])('a client waits for an attempt of %i products for %i ms', (products_count, ms) => {
  expect(getAttemptWaitMs(createKeyRecord({ products_count }))).toBe(ms);
});

const FAILED_AT = 7_000_000;
const permanent = 'the failure is not transient: the time is up';
const exhausted = '4 tries failed since the claim or the last resume by an operator';

test.each<[Partial<KeyRecord>, delayMs: number, obstacle: string | null]>([
  [{ failure_cause: 'stopped', failed_tries: 0 }, 0, null],
  [{ failure_cause: 'lease_expired', failed_tries: 1 }, 0, null],
  [{ failure_cause: 'timeout', failed_tries: 2 }, 60_000, null],
  [{ failure_cause: 'unavailable', failed_tries: 3 }, 300_000, null],
  [{ failure_cause: 'stopped', failed_tries: 3 }, 300_000, null],
  // A key that needs an operator is due at once, so that the sweep reports it.
  [{ failure_cause: 'timeout', failed_tries: 4 }, 0, exhausted],
  [{ failure_cause: 'error', failed_tries: 1 }, 0, permanent],
])(
  'a key with the failure %j is due after %i ms, and the obstacle to its resume is %j',
  (fields, delayMs, obstacle) => {
    const record: KeyRecord = { ...failed, updated_at: FAILED_AT, ...fields };
    expect(getSweepDueAt(record)).toBe(FAILED_AT + delayMs);
    expect(canResumeAutomatically(record)).toBe(obstacle === null);
    expect(getRecovery(record)).toEqual(
      obstacle === null ? { kind: 'sweep', retryAfterMs: 65_000 } : { kind: 'operator' },
    );
    if (obstacle !== null) expect(describeSweepObstacle(record)).toBe(obstacle);
  },
);

test('a key in progress is due when its lease expires (aegra #476), and a completed or released key is never due', () => {
  expect(getSweepDueAt({ ...processing, failed_tries: 4, lease_expires_at: 60_000 })).toBe(60_000);
  expect([completed, released].map(getSweepDueAt)).toEqual([null, null]);
});
