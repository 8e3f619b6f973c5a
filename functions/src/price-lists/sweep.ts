import { abortable } from '../lib/clock';
import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import {
  isKeyOf,
  KEYS_PER_PAGE,
  readDueKeys,
  setSweepDueAt,
  type FoundKey,
  type KeySnapshot,
} from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_ASK_INTERVAL_MS } from '../lib/time-limits';
import { expireLease, SWEEP, transition, type KeyEvent } from './key-state-machine';
import { getSweepDueAt, getSweepObstacle } from './sweep-schedule';
import { KeyStore } from './key-store';
import { takeOver, toResolutionError } from './resume';

export interface SweepOptions {
  /** Maximum number of concurrent resumes; each holds a payload in memory. */
  concurrency: number;
  /** Reports what a sweep would do, but writes nothing. */
  dryRun: boolean;
  /** After this signal aborts, no more resumes begin. Running resumes continue until the signal of the context aborts. */
  stopping?: AbortSignal;
}

/** The result of a sweep for one key. */
export interface SweepResult {
  boq_list_id: string;
  document_id: string;
  /** Trace of the request that claimed the key; null without one. */
  trace_id: string | null;
  /** `left`: the key now needs an operator. `deferred`: another process resolves it, or the resume failed. */
  result: 'resumed' | 'would_resume' | 'left' | 'deferred';
  reason: string | null;
}

/** Number of keys with each result. */
export type SweepSummary = Record<SweepResult['result'], number>;

/** Receives the results of a sweep, and the records that it could not read. */
export interface SweepReporter {
  /** `sinceClaimMs`: the age of the attempt. */
  onResult: (result: SweepResult, sinceClaimMs: number) => void;
  /** The record at this path does not parse. The sweep does not change it. */
  onUnreadable: (path: string) => void;
}

/** A key may be due for this long before a query finds it, because clocks differ and commits take time. */
const FOUND_DUE_WITHIN_MS = 60_000;

/** Time that a sweep has to report a key that needs an operator, before another sweep may. */
const REPORT_TURN_MS = 60_000;

/**
 * Resumes each attempt that is due (`getSweepDueAt`) once, until none is left. Every change is an
 * event of the state machine, so a sweep may overlap with other sweeps, operators and owners.
 *
 * When the signal aborts, the running attempts are failed. The next sweep resumes them.
 *
 * @throws the error of a query for due keys
 */
export async function sweep(
  db: Database,
  context: RequestContext,
  options: SweepOptions,
  reporter: SweepReporter,
): Promise<SweepSummary> {
  const sweeper = new KeySweeper(db, context, options, reporter);
  const { signal } = context;
  /** Paths of the records that this sweep has begun to process. */
  const tried = new Set<string>();
  const running = new Set<Promise<void>>();
  let waiting: FoundKey[] = [];
  try {
    while (!signal.aborted) {
      if (waiting.length === 0) {
        waiting = await sweeper.readNew(tried);
      }
      const free = options.stopping?.aborted === true ? 0 : options.concurrency - running.size;
      for (const key of waiting.splice(0, free)) {
        tried.add(key.reference.path);
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
  return sweeper.summary;
}

/** Waits until work on a key ends or the next query is due. No other sweep may start before this one ends. */
async function waitForWork(running: Iterable<Promise<void>>, { clock, signal }: RequestContext): Promise<void> {
  const timeToAsk = clock.createTimeout(SWEEP_ASK_INTERVAL_MS, () => new Error('time to ask again'), signal);
  await abortable(timeToAsk.signal, () => Promise.race(running))
    .catch(() => undefined)
    .finally(timeToAsk.cancel);
}

/** Finds and processes the keys of one sweep. */
class KeySweeper {
  readonly summary: SweepSummary = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };
  /** The last key that was read; undefined before the first key and after the last page. */
  #last: FoundKey | undefined;
  /** All keys that became due before this time have been read; undefined until then. */
  #since: number | undefined;

  constructor(
    private readonly db: Database,
    private readonly context: RequestContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
  ) {}

  /**
   * Reads the next due keys, longest due first. So a sweep reads each record about once, even one
   * that stays due because it does not parse.
   *
   * @returns keys that have not been tried; empty if there are no others
   */
  async readNew(tried: ReadonlySet<string>): Promise<FoundKey[]> {
    for (;;) {
      const askedAt = this.context.clock.now();
      const from = this.#last ?? this.#since;
      const page = await retry(() => readDueKeys(this.db, askedAt, from), this.context, 'standalone');
      const isEnd = page.length < KEYS_PER_PAGE;
      this.#last = isEnd ? undefined : page.at(-1);
      // Only keys that become due from now on are left to find.
      if (isEnd) this.#since = askedAt - FOUND_DUE_WITHIN_MS;
      const found = page.filter(({ reference }) => !tried.has(reference.path));
      if (found.length > 0 || isEnd) return found;
    }
  }

  async sweepKey(key: FoundKey): Promise<void> {
    if (key.record === undefined) {
      this.reporter.onUnreadable(key.reference.path);
      return;
    }
    try {
      await this.#sweepRecord(key, key.record);
    } catch (error) {
      this.#report(key.record, 'deferred', getErrorMessage(error));
    }
  }

  /** Decides by the record, and skips one that is not due. The audit reports a `sweep_due_at` that differs from its record. */
  async #sweepRecord(key: FoundKey, stored: KeyRecord): Promise<void> {
    const now = this.context.clock.now();
    const record = expireLease(stored, now);
    const hasExpired = record !== stored;
    const dueAt = getSweepDueAt(stored);
    if (!hasExpired && (dueAt === null || dueAt > now)) return;
    const keys = new KeyStore(key.reference, this.db, this.context);
    const { document_id } = record;
    if (!isKeyOf(key.reference, record.boq_list_id)) {
      const reason = 'its boq_list_id is that of another record';
      await this.#leave(key, keys, { kind: 'condemn', document_id, reason });
    } else if (getSweepObstacle(record) !== null) await this.#leave(key, keys, { kind: 'look', caller: null });
    else if (this.options.dryRun) this.#report(record, 'would_resume', record.failure);
    else await this.#resume(record, keys);
  }

  async #resume(record: KeyRecord, keys: KeyStore): Promise<void> {
    const { outcome } = await takeOver(record, { by: SWEEP, reason: record.failure, isAutomatic: true }, keys);
    if (outcome.kind === 'completed' && outcome.isOwn) this.#report(record, 'resumed', null);
    else if (outcome.kind === 'failed' && outcome.retryAfterMs === null) await this.#reportToOperator(keys);
    else if (outcome.kind === 'failed' || outcome.kind === 'unknown') this.#report(record, 'deferred', outcome.reason);
    else this.#report(record, 'deferred', toResolutionError(outcome).message);
  }

  /** Reports a key to an operator, unless it was reported before. @param event the event that makes the key need one */
  async #leave(key: FoundKey, keys: KeyStore, event: KeyEvent): Promise<void> {
    const { context, options } = this;
    const { record } = transition(key.record, event, context.clock.now());
    const isReported = record === key.record && key.sweepDueAt === null;
    if (record === undefined || isReported) return;
    if (options.dryRun) {
      this.#report(record, 'left', getSweepObstacle(record));
      return;
    }
    if (record !== key.record) await retry(() => keys.apply(event), context, 'standalone');
    await this.#reportToOperator(keys);
  }

  /**
   * Reports once that a key needs an operator; the record stays due until then. A commit first
   * reserves a time for this sweep, so only one of several sweeps reports. If the sweep dies,
   * another one reports after that time.
   */
  async #reportToOperator(keys: KeyStore): Promise<void> {
    const { clock } = this.context;
    const key = await this.#read(keys);
    const obstacle = key.record?.status === 'requires_review' ? getSweepObstacle(key.record) : null;
    const isDue = key.sweepDueAt !== null && key.sweepDueAt <= clock.now();
    if (key.record === undefined || obstacle === null || !isDue) return;
    const turnEndsAt = clock.now() + REPORT_TURN_MS;
    if (!(await this.#setDueAt(key, turnEndsAt))) return;
    this.#report(key.record, 'left', obstacle);
    const reported = await this.#read(keys);
    if (reported.sweepDueAt === turnEndsAt) await this.#setDueAt(reported, null);
  }

  #read(keys: KeyStore): Promise<KeySnapshot> {
    return retry(() => keys.read(), this.context, 'standalone');
  }

  /** @returns false if the record has changed since it was read, possibly by an earlier try */
  #setDueAt(key: KeySnapshot, dueAt: number | null): Promise<boolean> {
    const commit = async () => {
      try {
        await this.db.commit((writes) => setSweepDueAt(writes, key, dueAt));
        return true;
      } catch (error) {
        if (!isConflict(error)) throw error;
        return false;
      }
    };
    return retry(commit, this.context, 'standalone');
  }

  #report(record: KeyRecord, result: SweepResult['result'], reason: string | null): void {
    const { boq_list_id, document_id, trace_id, claimed_at } = record;
    this.summary[result] += 1;
    const sinceClaimMs = this.context.clock.now() - claimed_at;
    this.reporter.onResult({ boq_list_id, document_id, trace_id, result, reason }, sinceClaimMs);
  }
}
