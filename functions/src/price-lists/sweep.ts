import { abortable } from '../lib/clock';
import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import {
  clearSweepDueAt,
  getMsUntilDue,
  isDue,
  readKey,
  readSweptKeys,
  type KeySnapshot,
} from '../lib/repositories/keys';
import type { KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_ASK_INTERVAL_MS, SWEEP_INTERVAL_MS } from '../lib/time-limits';
import type { WorkContext } from '../lib/work-context';
import type { KeyStore } from './key-store';
import { takeOver } from './resume';
import { canResumeAutomatically, describeSweepObstacle, isSwept } from './schedule';

export interface SweepResult {
  /** When the key was read, or for `resumed` when it was completed, by Firestore's clock in Unix milliseconds. */
  time: number;
  /** `left`: the key needs an operator. `deferred`: this sweep could not resolve it, or another process holds or has resolved it. */
  result: 'resumed' | 'deferred' | 'left';
  reason: string | null;
}

export interface SweepOptions {
  /** After this signal aborts, no more resumes begin. */
  stopping?: AbortSignal | undefined;
  /** Milliseconds. The sweep waits for the keys that become due within this time after its start. */
  waitForDueMs?: number | undefined;
}

export interface SweepReporter {
  /** Reports the result for a key. Rejects if it could not be written. A key that needs an operator then stays due. */
  onResult: (result: SweepResult, record: KeyRecord) => Promise<void> | void;
  /** Reports a record that does not parse. The sweep then removes it from its index, and changes nothing else. */
  onUnreadable: (path: string) => Promise<void> | void;
}

/** Maximum number of concurrent resumes. Three of the densest lists take 0.73 of the memory (docs/performance.md), and four took 0.77. */
const CONCURRENCY = 3;

/** Number of keys to read, besides those that this sweep has tried. */
const KEYS_PER_READ = 20;

/**
 * Resumes each attempt that is due (`isSwept`), or reports that its key needs an operator. Ends when no resume is
 * running, each due key that it finds was tried within the last minute, and no other becomes due within `waitForDueMs` of
 * its start. Sweeps can overlap with each other, with operators and with clients.
 *
 * When the signal of the database aborts, the running resumes fail their attempts.
 *
 * @throws the error of a query for due keys or of the reporter, unless the signal of the database has aborted
 */
export async function sweep(
  db: Database,
  reporter: SweepReporter,
  { stopping = db.context.signal, waitForDueMs = 0 }: SweepOptions = {},
): Promise<void> {
  const { context } = db;
  const { clock, signal } = context;
  const waitUntil = clock.elapsedMs() + waitForDueMs;
  const running = new Map<string, Promise<void>>();
  const triedAt = new Map<string, number>();
  const canStart = () => running.size < CONCURRENCY && !stopping.aborted;
  const isNew = ({ reference: { path } }: KeySnapshot) =>
    !running.has(path) && clock.elapsedMs() >= (triedAt.get(path) ?? -Infinity) + SWEEP_INTERVAL_MS;
  const isAwaited = (key: KeySnapshot) => !isDue(key) && clock.elapsedMs() + getMsUntilDue(key) < waitUntil;
  const start = (key: KeySnapshot) => {
    const { path } = key.reference;
    triedAt.set(path, clock.elapsedMs());
    const work = sweepKey(key, { reference: key.reference, db }, reporter);
    // Work that rejects stays in `running`, so that the next wait rejects with its error.
    running.set(
      path,
      work.then(() => void running.delete(path)),
    );
  };
  try {
    while (!signal.aborted) {
      let hasAwaited = false;
      if (canStart()) {
        const found = await retry(() => readSweptKeys(db, KEYS_PER_READ + triedAt.size), context, 'outage');
        if (!canStart()) continue;
        const due = found.filter((key) => isDue(key) && isNew(key));
        for (const key of due.slice(0, CONCURRENCY - running.size)) start(key);
        hasAwaited = found.some(isAwaited);
      }
      if (running.size > 0) await waitForWork(running.values(), context);
      else if (hasAwaited) await clock.sleep(SWEEP_ASK_INTERVAL_MS, signal);
      else return;
    }
  } catch (error) {
    // An error after the signal has aborted is a consequence of the abort.
    if (!signal.aborted) throw error;
  } finally {
    await Promise.allSettled(running.values());
  }
}

/**
 * Waits until work on a key ends or the next query is due. A sweep also queries during long work, because Cloud
 * Scheduler starts no other sweep before this one ends.
 */
async function waitForWork(running: Iterable<Promise<void>>, { clock, signal }: WorkContext): Promise<void> {
  const timeToAsk = clock.createTimeout(SWEEP_ASK_INTERVAL_MS, () => new Error('time to ask again'), signal);
  await abortable(timeToAsk.signal, () => Promise.race(running))
    .catch((error: unknown) => {
      if (!timeToAsk.signal.aborted) throw error;
    })
    .finally(timeToAsk.cancel);
}

/** Resumes or reports one key. After an error, reports the key as deferred, for a later sweep. */
async function sweepKey(found: KeySnapshot, key: KeyStore, reporter: SweepReporter): Promise<void> {
  const { record, readAt } = found;
  if (record === undefined) return;
  if (record === 'unreadable') {
    await reporter.onUnreadable(key.reference.path);
    await clearDueTime(found, key).catch(() => undefined);
    return;
  }
  const defer = (reason: string) => reporter.onResult({ time: readAt, result: 'deferred', reason }, record);
  try {
    if (!isSwept(record, readAt)) return;
    const { outcome, cause } = await takeOver(record, null, key);
    if (outcome.kind === 'completed' && outcome.isOwn) {
      const { updated_at: time } = outcome.record;
      await reporter.onResult({ time, result: 'resumed', reason: null }, outcome.record);
    } else if ('recovery' in outcome && outcome.recovery.kind === 'operator') await reportToOperator(key, reporter);
    else if (cause !== undefined) await defer(getErrorMessage(cause));
    else await defer(`another process has changed the key: ${outcome.kind}`);
  } catch (error) {
    await defer(getErrorMessage(error));
  }
}

/**
 * Reports that a key needs an operator, and then removes it from the index. So a key is reported at
 * least once, and again if two sweeps overlap or the commit after the report fails.
 */
async function reportToOperator(key: KeyStore, reporter: SweepReporter): Promise<void> {
  const found = await retry(() => readKey(key.db, key.reference), key.db.context, 'outage');
  const { record, sweepDueAt, readAt } = found;
  if (record === undefined || record === 'unreadable' || sweepDueAt === null) return;
  if (record.status !== 'requires_review' || canResumeAutomatically(record)) return;
  await reporter.onResult({ time: readAt, result: 'left', reason: describeSweepObstacle(record) }, record);
  await clearDueTime(found, key).catch(() => undefined);
}

/** Removes a key from the sweep's index, unless its record has changed since it was read. */
const clearDueTime = (found: KeySnapshot, { db }: KeyStore): Promise<void> =>
  retry(() => db.commit((writes) => clearSweepDueAt(writes, found)).catch(ignoreConflict), db.context, 'outage');

function ignoreConflict(error: unknown): void {
  if (!isConflict(error)) throw error;
}
