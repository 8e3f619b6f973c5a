import { abortable } from '../lib/clock';
import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import {
  isKeyOf,
  KEYS_PER_PAGE,
  readDueKeys,
  readKeysByStatus,
  setSweepDueAt,
  UNRESOLVED_STATUSES,
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
  /** Maximum resumes at the same time; each holds a payload in memory. */
  concurrency: number;
  /** Reports what a sweep would do, and writes nothing. */
  dryRun: boolean;
  /** Looks at every unresolved key, also those of a release without `sweep_due_at`, and gives them that. */
  all: boolean;
  /** Once it aborts, no more resumes begin; those under way go on until the signal of the context. */
  stopping?: AbortSignal;
}

/** What the sweep did about one key. */
export interface SweepResult {
  boq_list_id: string;
  document_id: string;
  /** Trace of the request that claimed the key; null without one. */
  trace_id: string | null;
  /** `left`: needs an operator from now on. `deferred`: another process resolves it, or the resume failed. */
  result: 'resumed' | 'would_resume' | 'left' | 'deferred';
  reason: string | null;
}

/** How many keys had each result. */
export type SweepSummary = Record<SweepResult['result'], number>;

/** Where a sweep tells what it did, and what it could not read. */
export interface SweepReporter {
  /** `sinceClaimMs`: the age of the attempt. */
  onResult: (result: SweepResult, sinceClaimMs: number) => void;
  /** The record at this path does not parse: it is left as it is. */
  onUnreadable: (path: string) => void;
}

/** For how long a key may have been due before a query finds it: clocks differ, and commits take time. */
const FOUND_DUE_WITHIN_MS = 60_000;

/** How long a sweep has to report a key that needs an operator, before another one does. */
const REPORT_TURN_MS = 60_000;

/**
 * Resumes, without an operator, the attempts that are due (`getSweepDueAt`), each once, until none
 * is. Every change is an event of the state machine, so sweeps may overlap with each other, with
 * operators and with owners.
 *
 * When the signal aborts, the attempts under way are failed, and the next sweep resumes them.
 *
 * @throws the error of reading what is due
 */
export async function sweep(
  db: Database,
  context: RequestContext,
  options: SweepOptions,
  reporter: SweepReporter,
): Promise<SweepSummary> {
  const sweeper = new KeySweeper(db, context, options, reporter);
  const { signal } = context;
  /** Paths of the records that this sweep has begun with. */
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
    // What fails once the signal has aborted fails because of that.
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all(running);
  }
  return sweeper.summary;
}

/** Waits until the work on a key ends, or it is time to ask again: no other sweep may begin before the end of this one. */
async function waitForWork(running: Iterable<Promise<void>>, { clock, signal }: RequestContext): Promise<void> {
  const timeToAsk = clock.createTimeout(SWEEP_ASK_INTERVAL_MS, () => new Error('time to ask again'), signal);
  await abortable(timeToAsk.signal, () => Promise.race(running))
    .catch(() => undefined)
    .finally(timeToAsk.cancel);
}

/** What a sweep does about single keys. */
class KeySweeper {
  readonly summary: SweepSummary = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };
  /** The last key that was read; undefined before the first, and when no more were due. */
  #last: FoundKey | undefined;
  /** Keys that became due before were read; undefined until all were. */
  #since: number | undefined;

  constructor(
    private readonly db: Database,
    private readonly context: RequestContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
  ) {}

  /**
   * Reads on in what is due, the longest first. So a sweep reads each record about once, also one that
   * stays due because it does not parse.
   *
   * @returns keys that are not among the tried; none if there is no other
   */
  async readNew(tried: ReadonlySet<string>): Promise<FoundKey[]> {
    for (;;) {
      const askedAt = this.context.clock.now();
      const page = await retry(() => this.#readPage(askedAt), this.context, 'standalone');
      const isEnd = page.length < KEYS_PER_PAGE;
      this.#last = isEnd && !this.options.all ? undefined : (page.at(-1) ?? this.#last);
      // What becomes due from now on is all that is left to find.
      if (isEnd) this.#since = askedAt - FOUND_DUE_WITHIN_MS;
      const found = page.filter(({ reference }) => !tried.has(reference.path));
      if (found.length > 0 || isEnd) return found;
    }
  }

  #readPage(now: number): Promise<FoundKey[]> {
    return this.options.all
      ? readKeysByStatus(this.db, UNRESOLVED_STATUSES, this.#last)
      : readDueKeys(this.db, now, this.#last ?? this.#since);
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

  /** Decides by the record, not by the time under which it was found: another release may have written that. */
  async #sweepRecord(key: FoundKey, stored: KeyRecord): Promise<void> {
    const now = this.context.clock.now();
    const record = expireLease(stored, now);
    const hasExpired = record !== stored;
    const dueAt = getSweepDueAt(stored);
    if (!hasExpired && (dueAt === null || dueAt > now)) {
      await this.#correct(key, dueAt);
      return;
    }
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

  /** Gives a record that is not due, as one of another release may be, the time at which it is. */
  async #correct(key: FoundKey, dueAt: number | null): Promise<void> {
    if (this.options.dryRun || key.sweepDueAt === dueAt) return;
    await this.db.commit((writes) => setSweepDueAt(writes, key, dueAt));
  }

  /** Leaves a key to an operator, unless that is done. @param event after which it requires one */
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
   * Reports a key that needs an operator, once: the record is due until that is done. The sweep first
   * takes its turn by a commit, so one of several sweeps reports. A sweep that dies in its turn is
   * followed by another one.
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

  /** @returns false if the record has changed since it was read, perhaps by an earlier try */
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
