import type { Firestore } from 'firebase-admin/firestore';
import { systemClock } from '../../src/lib/clock';
import { databaseOf } from '../../src/lib/repositories/database';
import { usageUntil } from '../../src/lib/repositories/usage';
import { LEASE_MS } from '../../src/lib/settings';
import type { Run } from '../../src/price-lists/workflow';
import { find, release, resume } from '../../operator/review';

const quiet = () => undefined;

/** A run of an operator's, at a time `afterMs` from now. */
export function operatorRun(db: Firestore, afterMs = 0): Run {
  const { signal } = new AbortController();
  let tokens = 0;
  return {
    db: databaseOf(db, usageUntil(signal)),
    clock: { now: () => systemClock.now() + afterMs, sleep: (ms, until) => systemClock.sleep(ms, until) },
    random: Math.random,
    newToken: () => `operator-${process.pid}-${(tokens += 1)}-${Math.random()}`,
    signal,
    leaseMs: LEASE_MS,
    log: { claimed: quiet, finished: quiet, failed: quiet, superseded: quiet },
  };
}

const decision = { by: 'an operator', reason: 'a test' };

/** Resumes or releases a key, once the lease of whoever held it has run out. */
export async function settleAfterLease(db: Firestore, how: 'resume' | 'release', key: string): Promise<void> {
  const run = operatorRun(db, LEASE_MS + 60_000);
  const record = await find(key, run);
  if (how === 'resume') await resume(record, decision, run, { lacking: quiet, wrote: quiet });
  else await release(record, decision, run);
}
