import type { CommitWrites, Database } from '../../../src/lib/firestore/database';
import type { KeyReference, KeySnapshot } from '../../../src/lib/repositories/price-lists';
import { createWorkContext } from '../../../src/lib/work-context';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { KeyStore } from '../../../src/price-lists/key-store';
import { createKeyRecord } from '../../support/key-records';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

const record = createKeyRecord({ lease_expires_at: 60_000 });

/** Applies an event to a key. Its read begins at 5,000 ms on the clock of the process, takes 700 ms, and has the read time `readAt`. */
async function applyTo(readAt: number, owner: string) {
  let elapsed = 5_000;
  const context = createWorkContext(new AbortController().signal);
  const clock = { ...context.clock, elapsedMs: () => elapsed };
  const db = { commit: () => Promise.resolve() } as unknown as Database;
  const keys = new KeyStore({ id: 'key' } as KeyReference, db, { ...context, clock });
  jest.spyOn(keys, 'read').mockImplementation(() => {
    elapsed += 700;
    return Promise.resolve({ record, readAt } as KeySnapshot);
  });
  const caller = { owner, fingerprint: record.fingerprint };
  return keys.apply(owner === 'renewing' ? { kind: 'renew', attempt: record, progress } : { kind: 'expire', caller });
}

const progress = { entries_written: 0, entries_total: 0 };

test.each([
  [59_999, 'attempt'],
  [60_000, 'review'],
])('a lease until 60,000 that was read at %i is judged by the time of the read', async (readAt, by) => {
  expect(await applyTo(readAt, 'another')).toMatchObject({ kind: 'blocked', by });
});

test.each([
  ['owner', 45_000, 5_000 + 15_000],
  // After its lease expired, an owner keeps its key until the event of another sender expires the lease.
  ['owner', 61_000, 5_000 - 1_000],
  ['renewing', 45_000, 5_000 + LEASE_DURATION_MS],
])('%s: a lease that was read at %i is held from the start of the read, until %i', async (owner, readAt, heldUntil) => {
  expect(await applyTo(readAt, owner)).toMatchObject({ kind: 'owned', heldUntil });
});

test('a stale attempt that expires the lease of another adds no writes to that commit', async () => {
  const updated: unknown[] = [];
  const writes = { update: (...args: unknown[]) => updated.push(args[1]) } as unknown as CommitWrites;
  const commit = (add: (writes: CommitWrites) => void) => {
    add(writes);
    return Promise.resolve();
  };
  const db = { commit } as unknown as Database;
  const keys = new KeyStore({ id: 'key' } as KeyReference, db, createWorkContext(new AbortController().signal));
  const key = { record, readAt: record.lease_expires_at, version: {}, reference: keys.reference } as KeySnapshot;
  const { info } = parseSubmission(createPriceListBody(1));
  const addWrites = jest.fn();
  const event = { kind: 'complete', attempt: { ...record, owner: 'stale' }, info } as const;
  expect(await keys.applyTo(key, 0, event, addWrites)).toMatchObject({ kind: 'blocked', by: 'review' });
  expect(updated).toMatchObject([{ status: 'requires_review' }]);
  expect(addWrites).not.toHaveBeenCalled();
});
