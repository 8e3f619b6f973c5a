import { abortable } from '../lib/clock';
import { getErrorMessage, StoppedError } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { isKeyOf, readDueKeys, type FoundKey } from '../lib/repositories/price-lists';
import type { WorkContext } from '../lib/work-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_ASK_INTERVAL_MS } from '../lib/time-limits';
import { expireLease, SWEEP, transition, type KeyEvent } from './key-state-machine';
import { KeyStore } from './key-store';
import { takeOver, toResolutionError } from './resume';
import { canResumeAutomatically, describeSweepObstacle, getSweepDueAt } from './sweep-schedule';

export interface SweepOptions {
  /** Maximum number of concurrent resumes, because each holds a payload in memory. */
  concurrency: number;
  dryRun: boolean;
  /** After this signal aborts, no more resumes begin. Running resumes continue until the signal of the context aborts. */
  stopping?: AbortSignal;
}

export interface SweepResult {
  /** When the key was read, or for `resumed` when it was completed, by Firestore's clock in Unix milliseconds. */
  time: number;
  boq_list_id: string;
  document_id: string;
  trace_id: string | null;
  /** `left`: the key needs an operator. `deferred`: this sweep could not resolve it, or another process holds or has resolved it. */
  result: 'resumed' | 'would_resume' | 'left' | 'deferred';
  reason: string | null;
}

export interface SweepReporter {
  onResult: (result: SweepResult, record: KeyRecord) => void;
  /** The record does not parse, and stays as it is. */
  onUnreadable: (path: string) => void;
}

/**
 * The due time that an event stores can be the time of its read, but a query finds the key only after the commit. If
 * the commit takes effect more than this later, only the next sweep finds the key.
 */
const MAX_COMMIT_DELAY_MS = 60_000;

/**
 * Resumes each attempt that is due (`getSweepDueAt`), or reports that its key needs an operator. Ends when it finds
 * no other due key. A commit requires that the record is unchanged, so sweeps can overlap with each other, with
 * operators and with clients.
 *
 * When the signal aborts, the running resumes end: a stop undoes them, and a timeout fails their attempts.
 *
 * @throws the error of a query for due keys, unless the signal has aborted
 */
export async function sweep(
  db: Database,
  context: WorkContext,
  options: SweepOptions,
  reporter: SweepReporter,
): Promise<void> {
  const sweeper = new Sweeper(db, context, options, reporter);
  const { signal } = context;
  const running = new Set<Promise<void>>();
  let waiting: FoundKey[] = [];
  try {
    while (!signal.aborted) {
      if (waiting.length === 0) {
        waiting = await sweeper.readNew();
      }
      const free = options.stopping?.aborted === true ? 0 : options.concurrency - running.size;
      for (const key of waiting.splice(0, free)) {
        const work: Promise<void> = sweeper.sweepKey(key).finally(() => running.delete(work));
        running.add(work);
      }
      if (running.size === 0) break;
      await waitForWork(running, context);
    }
  } catch (error) {
    // An error after the signal has aborted is a consequence of the abort.
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all(running);
  }
}

/**
 * Waits until work on a key ends or the next query is due. This sweep queries again, because Cloud Scheduler usually
 * starts no other before it ends.
 */
async function waitForWork(running: Iterable<Promise<void>>, { clock, signal }: WorkContext): Promise<void> {
  const timeToAsk = clock.createTimeout(SWEEP_ASK_INTERVAL_MS, () => new Error('time to ask again'), signal);
  await abortable(timeToAsk.signal, () => Promise.race(running))
    .catch(() => undefined)
    .finally(timeToAsk.cancel);
}

class Sweeper {
  /** Where the next query begins: after this key, or at this due time; undefined for all keys. */
  #from: FoundKey | number | undefined;
  /** The time of the last query that returned a document, by Firestore's clock. */
  #readAt: number | undefined;
  /** The keys that this sweep has found, each with its due time. A key that becomes due again is processed again. */
  readonly #found = new Set<string>();
  /** Paths of the keys that wait for this sweep, or that it processes. */
  readonly #pending = new Set<string>();

  constructor(
    private readonly db: Database,
    private readonly context: WorkContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
  ) {}

  /**
   * Reads the due keys after those of the last query, in the order of their due times. So a sweep reads each
   * record about once, even one that stays due because it does not parse.
   *
   * @returns keys that are not pending, and were not found before at the same due time; empty if there are none
   */
  async readNew(): Promise<FoundKey[]> {
    for (;;) {
      const { keys, isLast, readAt } = await retry(() => readDueKeys(this.db, this.#from), this.context, 'outage');
      this.#readAt = readAt ?? this.#readAt;
      // After the last page, the only keys left to find are those that become due later, or whose commit was late.
      const since = this.#readAt === undefined ? undefined : this.#readAt - MAX_COMMIT_DELAY_MS;
      this.#from = isLast ? since : keys.at(-1);
      const found = keys.filter((key) => !this.#found.has(toDueId(key)) && !this.#pending.has(key.reference.path));
      for (const key of found) {
        this.#found.add(toDueId(key));
        this.#pending.add(key.reference.path);
      }
      if (found.length > 0 || isLast) return found;
    }
  }

  async sweepKey(key: FoundKey): Promise<void> {
    const { path } = key.reference;
    try {
      if (key.kind === 'unreadable') this.reporter.onUnreadable(path);
      else await this.#sweepRecord(key).catch((error: unknown) => this.#defer(key, getErrorMessage(error)));
    } finally {
      this.#pending.delete(path);
    }
  }

  /** Skips a key that is not due by its record, although its stored `sweep_due_at` is. The audit reports this difference. */
  async #sweepRecord({ reference, record: stored, readAt }: ReadableKey): Promise<void> {
    const dueAt = getSweepDueAt(stored);
    if (dueAt === null || dueAt > readAt) return;
    const record = expireLease(stored, readAt);
    const keys = new KeyStore(reference, this.db, this.context);
    const { document_id } = record;
    if (!isKeyOf(reference, record.boq_list_id)) {
      const reason = 'it is stored under the hash of another key';
      await this.#leave(stored, { kind: 'fail_permanently', document_id, reason }, readAt, keys);
    } else if (!canResumeAutomatically(record))
      await this.#leave(stored, { kind: 'expire', caller: null }, readAt, keys);
    else if (this.options.dryRun) this.#report(record, 'would_resume', record.failure, readAt);
    else await this.#resume({ record, readAt }, keys);
  }

  async #resume(key: JudgedKey, keys: KeyStore): Promise<void> {
    const { record } = key;
    const { outcome, cause } = await takeOver(record, { by: SWEEP, reason: record.failure, isAutomatic: true }, keys);
    if (outcome.kind === 'completed' && outcome.isOwn)
      this.#report(outcome.record, 'resumed', null, outcome.record.updated_at);
    else if (outcome.kind === 'failed' && outcome.retryAfterMs === null) await this.#reportToOperator(keys);
    // After a stop, the reason of the outcome is the earlier failure.
    else if (outcome.kind === 'failed' && cause instanceof StoppedError) this.#defer(key, cause.message);
    else if (outcome.kind === 'failed' || outcome.kind === 'unknown') this.#defer(key, outcome.reason);
    else this.#defer(key, toResolutionError(outcome).message);
  }

  /** Leaves a key to an operator. @param event the event after which the key needs one, if it did not before */
  async #leave(stored: KeyRecord, event: KeyEvent, readAt: number, keys: KeyStore): Promise<void> {
    const record = transition(stored, event, readAt).record ?? stored;
    if (this.options.dryRun) {
      this.#report(record, 'left', describeSweepObstacle(record), readAt);
      return;
    }
    if (record !== stored) await retry(() => keys.apply(event), this.context, 'outage');
    await this.#reportToOperator(keys);
  }

  /**
   * Reports that a key needs an operator, and then removes it from the index. So a key is reported at
   * least once, and again if two sweeps overlap or the commit after the report fails.
   */
  async #reportToOperator(keys: KeyStore): Promise<void> {
    const key = await retry(() => keys.read(), this.context, 'outage');
    const { record, sweepDueAt, readAt } = key;
    if (record?.status !== 'requires_review' || canResumeAutomatically(record) || sweepDueAt === null) return;
    this.#report(record, 'left', describeSweepObstacle(record), readAt);
    await keys.clearDueTime(key).catch(() => undefined);
  }

  #defer({ record, readAt }: JudgedKey, reason: string): void {
    this.#report(record, 'deferred', reason, readAt);
  }

  #report(record: KeyRecord, result: SweepResult['result'], reason: string | null, time: number): void {
    const { boq_list_id, document_id, trace_id } = record;
    this.reporter.onResult({ time, boq_list_id, document_id, trace_id, result, reason }, record);
  }
}

type ReadableKey = Extract<FoundKey, { kind: 'readable' }>;

/** The record of a key, and the time at which it is judged. */
type JudgedKey = Pick<ReadableKey, 'record' | 'readAt'>;

const toDueId = ({ reference, sweepDueAt }: FoundKey): string => `${reference.path} ${sweepDueAt}`;
