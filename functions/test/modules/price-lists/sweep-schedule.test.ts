import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import {
  canResumeAutomatically,
  describeSweepObstacle,
  getAttemptWaitMs,
  getSweepDueAt,
  getSweepResumeAt,
} from '../../../src/price-lists/sweep-schedule';
import { completed, createKeyRecord, failed, processing, released } from '../../support/key-records';

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

describe('the sweep', () => {
  test.each<[Partial<KeyRecord>, string | null]>([
    [{ automatic_resumes: 2 }, null],
    [{ automatic_resumes: 3 }, 'it was resumed 3 times without an operator, and failed again'],
    [{ failure_cause: 'error' }, 'the failure is not transient: the time is up'],
    [{ failure_cause: null, failure: null }, 'the failure is not transient: unknown'],
  ])('resumes a failure with %j unless it has an obstacle: %s', (fields, obstacle) => {
    const record = { ...failed, ...fields };
    expect(canResumeAutomatically(record)).toBe(obstacle === null);
    if (obstacle !== null) expect(describeSweepObstacle(record)).toBe(obstacle);
  });

  test('is due when a lease expires (aegra #476), and at once, a minute and five minutes after a transient failure', () => {
    const dueAfter = (automatic_resumes: number) => {
      const dueAt = getSweepResumeAt({ ...failed, automatic_resumes });
      return dueAt === null ? null : dueAt - failed.updated_at;
    };
    expect([0, 1, 2, 3].map(dueAfter)).toEqual([0, 60_000, 300_000, null]);
    expect(getSweepResumeAt({ ...processing, automatic_resumes: 3 })).toBe(processing.lease_expires_at);
    expect([completed, { ...failed, failure_cause: 'error' } as const].map(getSweepResumeAt)).toEqual([null, null]);
  });

  test('is due at once for a key that needs an operator, to report it', () => {
    const permanent = { ...failed, failure_cause: 'error', updated_at: 7_000 } as const;
    expect(getSweepDueAt(permanent)).toBe(7_000);
    expect(getSweepDueAt({ ...permanent, failure_cause: 'timeout', automatic_resumes: 3 })).toBe(7_000);
    expect(getSweepDueAt({ ...permanent, failure_cause: 'timeout', automatic_resumes: 1 })).toBe(67_000);
    expect([completed, released].map(getSweepDueAt)).toEqual([null, null]);
  });
});
