import { abortable, type Clock } from '../lib/clock';
import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import { clearSweepDueAt, readKey, readSweptKeys, type KeySnapshot, type SweptKey } from '../lib/repositories/keys';
import type { KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_INTERVAL_MS } from '../lib/time-limits';
import type { KeyStore } from './key-store';
import { takeOver } from './resume';
import { canResumeAutomatically, describeSweepObstacle, isSwept } from './schedule';

export interface SweepResult {
  /** When the key was read, or for `resumed` when it was completed, by Firestore's clock in Unix milliseconds. */
  time: number;
  /** `left`: the key needs an operator. `deferred`: this sweep could not complete the key, or another process has changed it. */
  result: 'resumed' | 'deferred' | 'left';
  reason: string | null;
}

export interface SweepReporter {
  /** Reports the result for a key. Rejects if the result could not be written. A key that needs an operator then stays due. */
  onResult: (result: SweepResult, record: KeyRecord) => Promise<void> | void;
  /** Reports an unreadable record. The sweep then removes the record from its index, and leaves the rest of the record as it is. */
  onUnreadable: (path: string) => Promise<void> | void;
}

/** Maximum number of concurrent resumes. Three of the largest take no more memory than memory.ts counts for three creations. */
export const CONCURRENCY = 3;

/** Maximum number of keys that a pass reads in one call. */
const KEYS_PER_PAGE = 20;

/**
 * Resumes the attempt of each key that is due (`isSwept`), or reports that the key needs an operator. A pass takes each key once,
 * if the key is due when the pass begins, and no earlier pass still works on it. While work is running, further passes
 * begin, at most one a minute, because Cloud Scheduler starts no other sweep while a scheduled one runs. Clients, operators
 * and other sweeps can act on keys at the same time.
 *
 * When the signal of the database aborts, the running resumes fail their attempts.
 *
 * @param stopping after this signal has aborted, no more work begins
 * @throws the error of a query for due keys or of the reporter, unless the signal of the database has aborted
 */
export async function sweep(
  db: Database,
  reporter: SweepReporter,
  stopping: AbortSignal = db.context.signal,
): Promise<void> {
  const { clock, signal } = db.context;
  const running = new Map<string, Promise<void>>();
  const errors: unknown[] = [];
  const canBegin = () => !stopping.aborted && !signal.aborted && errors.length === 0;
  try {
    do {
      const nextPassAt = clock.elapsedMs() + SWEEP_INTERVAL_MS;
      for await (const key of readDueKeys(db)) {
        const { path } = key.reference;
        if (running.has(path)) continue;
        const isAlone = mayHaveEndedInstance(key);
        while (running.size >= (isAlone ? 1 : CONCURRENCY)) await Promise.race(running.values());
        if (!canBegin()) break;
        const work = sweepKey(key, { reference: key.reference, db }, reporter)
          .catch((error: unknown) => void errors.push(error))
          .finally(() => running.delete(path));
        running.set(path, work);
        if (isAlone) await work;
      }
      await waitForWork(running.values(), nextPassAt, clock);
    } while (running.size > 0 && canBegin());
  } catch (error) {
    errors.push(error);
  }
  await Promise.all(running.values());
  // An error after the signal has aborted is a consequence of the abort.
  if (errors.length > 0 && !signal.aborted) throw errors[0];
}

/** Yields the keys that are due at its first read, the longest due first. Reads each page when the caller needs it. */
export async function* readDueKeys(db: Database): AsyncGenerator<SweptKey> {
  let until: number | undefined;
  let last: SweptKey | undefined;
  for (;;) {
    const page = await retry(() => readSweptKeys(db, KEYS_PER_PAGE, last), db.context, 'outage');
    for (const key of page) {
      // A later pass takes a key that becomes due after the first read, such as one whose resume in this pass has failed.
      until ??= key.readAt;
      if (key.sweepDueAt > until) return;
      yield key;
    }
    if (page.length < KEYS_PER_PAGE) return;
    last = page.at(-1);
  }
}

/**
 * Whether an earlier resume of the attempt may have ended its instance. The next resume runs alone, so that it ends no
 * other work if it ends its instance too.
 */
const mayHaveEndedInstance = ({ record }: KeySnapshot): boolean =>
  typeof record === 'object' && record.status === 'processing' && record.failed_tries > 0;

/** Waits until all work has ended or the next pass begins. @param work promises that never reject */
async function waitForWork(work: Iterable<Promise<void>>, nextPassAt: number, clock: Clock): Promise<void> {
  const nextPass = clock.createTimeout(nextPassAt - clock.elapsedMs(), () => new Error('the next pass begins'));
  await abortable(nextPass.signal, () => Promise.all(work)).catch(() => undefined);
  nextPass.cancel();
}

/** Resumes or reports one key. After an error, reports the key as deferred. */
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
 * Reports that a key needs an operator, and then removes it from the sweep's index. So a key is reported at
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
