import { readKeyRecord } from '../../audit/stored-records';
import type { Firestore } from 'firebase-admin/firestore';
import { systemClock, type Clock } from '../../src/lib/clock';
import { createDatabase, type Database } from '../../src/lib/firestore/database';
import { createRequestContext, type RequestContext } from '../../src/lib/request-context';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { release } from '../../src/price-lists/resume';
import { resume } from '../../src/price-lists/resume';
import { sweep, type SweepSummary } from '../../src/price-lists/sweep';

const quiet = { onResult: () => undefined, onUnreadable: () => undefined };

const SWEEP_OPTIONS = { dryRun: false, concurrency: 1, all: false } as const;

/** Sweeps until nothing is due, or the signal of the context aborts. */
export const runSweep = (db: Database, context: RequestContext): Promise<SweepSummary> =>
  sweep(db, context, SWEEP_OPTIONS, quiet);

/** A run of an operator's, at a time `afterMs` from now. */
function createOperatorContext(db: Firestore, afterMs = 0): { db: Database; context: RequestContext } {
  const { signal } = new AbortController();
  let tokens = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + afterMs };
  const newToken = () => `operator-${process.pid}-${(tokens += 1)}-${Math.random()}`;
  const context = { ...createRequestContext(signal), clock, newToken };
  return { db: createDatabase(db, context), context };
}

/** By how much the clock of {@link resolveAfterLease} is ahead. */
export const RESOLVED_AFTER_MS = LEASE_DURATION_MS + 60_000;

const decision = { by: 'an operator', reason: 'a test' };

/** Resumes, releases or sweeps a key, after the lease of its owner expired. */
export async function resolveAfterLease(
  firestore: Firestore,
  how: 'resume' | 'release' | 'sweep',
  key: string,
): Promise<void> {
  const { db, context } = createOperatorContext(firestore, RESOLVED_AFTER_MS);
  const record = await readKeyRecord(db, key);
  if (record === undefined) throw new Error(`there is no key ${key}`);
  if (how === 'resume') await resume(record, decision, db, context);
  else if (how === 'release') await release(record, decision, db, context);
  else await runSweep(db, context);
}
