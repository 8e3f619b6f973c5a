import type { Firestore } from 'firebase-admin/firestore';
import { systemClock } from '../../src/lib/clock';
import { createDatabase } from '../../src/lib/firestore/database';
import { createCallContext } from '../../src/lib/call-context';
import { LEASE_DURATION_MS } from '../../src/lib/runtime-options';
import type { WorkflowContext } from '../../src/price-lists/create-price-lists';
import { requireKeyRecord, release, resume } from '../../cli/review';

const quiet = () => undefined;

/** A run of an operator's, at a time `afterMs` from now. */
export function createOperatorContext(db: Firestore, afterMs = 0): WorkflowContext {
  const { signal } = new AbortController();
  let tokens = 0;
  return {
    db: createDatabase(db, createCallContext(signal)),
    clock: { now: () => systemClock.now() + afterMs, sleep: (ms, until) => systemClock.sleep(ms, until) },
    random: Math.random,
    newToken: () => `operator-${process.pid}-${(tokens += 1)}-${Math.random()}`,
    signal,
    leaseMs: LEASE_DURATION_MS,
    log: { claimed: quiet, completed: quiet, failed: quiet, superseded: quiet },
  };
}

const decision = { by: 'an operator', reason: 'a test' };

/** Resumes or releases a key, once the lease of whoever held it has run out. */
export async function resolveAfterLease(db: Firestore, how: 'resume' | 'release', key: string): Promise<void> {
  const run = createOperatorContext(db, LEASE_DURATION_MS + 60_000);
  const record = await requireKeyRecord(key, run);
  if (how === 'resume') await resume(record, decision, run, { onPending: quiet, onWritten: quiet });
  else await release(record, decision, run);
}
