import type { Firestore } from 'firebase-admin/firestore';
import { systemClock, type Clock } from '../../src/lib/clock';
import { createDatabase } from '../../src/lib/firestore/database';
import { createCallContext } from '../../src/lib/call-context';
import { LEASE_DURATION_MS } from '../../src/lib/runtime-options';
import { requireKeyRecord, release, resume, type OperatorContext } from '../../cli/review';
import { Sweeper } from '../../cli/sweep';

const quiet = { onResult: () => undefined, onWarning: () => undefined };

/** A run of an operator's, at a time `afterMs` from now. */
export function createOperatorContext(db: Firestore, afterMs = 0): OperatorContext {
  const { signal } = new AbortController();
  let tokens = 0;
  const clock: Clock = { now: () => systemClock.now() + afterMs, sleep: (ms, until) => systemClock.sleep(ms, until) };
  return {
    db: createDatabase(db, { ...createCallContext(signal), clock }),
    newToken: () => `operator-${process.pid}-${(tokens += 1)}-${Math.random()}`,
  };
}

const decision = { by: 'an operator', reason: 'a test' };

/** Resumes, releases or sweeps a key, after the lease of its owner expired. */
export async function resolveAfterLease(
  db: Firestore,
  how: 'resume' | 'release' | 'sweep',
  key: string,
): Promise<void> {
  const context = createOperatorContext(db, LEASE_DURATION_MS + 60_000);
  const record = await requireKeyRecord(key, context.db);
  if (how === 'resume') await resume(record, { ...decision, maxResumes: null }, context);
  else if (how === 'release') await release(record, decision, context.db);
  else await new Sweeper(context, { maxResumes: 3, dryRun: false, concurrency: 1 }, quiet).sweepOnce();
}
