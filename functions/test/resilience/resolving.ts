import type { Firestore } from 'firebase-admin/firestore';
import { systemClock } from '../../src/lib/clock';
import { createDatabase } from '../../src/lib/firestore/database';
import { createRequestContext } from '../../src/lib/request-context';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { readKeyRecord } from '../../audit/stored-records';
import { release, resume } from '../../src/price-lists/resume';
import { sweep } from '../../src/price-lists/sweep';

/** By how much the clock of {@link resolveAfterLease} is ahead. */
export const RESOLVED_AFTER_MS = LEASE_DURATION_MS + 60_000;

const SWEEP_OPTIONS = { dryRun: false, concurrency: 1, all: false };
const quiet = { onResult: () => undefined, onUnreadable: () => undefined };

const decision = { by: 'an operator', reason: 'a test' };

/** Resumes, releases or sweeps a key, after the lease of its owner expired. */
export async function resolveAfterLease(
  firestore: Firestore,
  how: 'resume' | 'release' | 'sweep',
  key: string,
): Promise<void> {
  const clock = { ...systemClock, now: () => systemClock.now() + RESOLVED_AFTER_MS };
  const context = { ...createRequestContext(new AbortController().signal), clock };
  const db = createDatabase(firestore, context);
  const record = await readKeyRecord(db, key);
  if (record === undefined) throw new Error(`there is no key ${key}`);
  if (how === 'resume') await resume(record, decision, db, context);
  else if (how === 'release') await release(record, decision, db, context);
  else await sweep(db, context, SWEEP_OPTIONS, quiet);
}
