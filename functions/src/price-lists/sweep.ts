import { abortable } from '../lib/clock';
import { isDocumentId } from '../lib/document-id';
import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import {
  isKeyOf,
  readDueKeys,
  readUnresolvedKeys,
  setSweepDueAt,
  type FoundKey,
} from '../lib/repositories/price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { SWEEP_ASK_INTERVAL_MS } from '../lib/time-limits';
import { expireLease, getSweepDueAt, getSweepObstacle, SWEEP, transition, type KeyEvent } from './key-state-machine';
import { KeyStore } from './key-store';
import { ResolutionError, takeOver, toResolutionError } from './resume';

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
  /** `left`: needs an operator from now on. `deferred`: someone else is at it, or the resume failed. */
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

/** Keys of one reading. */
const KEYS_PER_READING = 100;

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
        const found = await sweeper.readDue(KEYS_PER_READING + tried.size);
        waiting = found.filter(({ reference }) => !tried.has(reference.path));
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

  constructor(
    private readonly db: Database,
    private readonly context: RequestContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
  ) {}

  /** Reads what is due, the longest first. */
  readDue(limit: number): Promise<FoundKey[]> {
    const { db, context, options } = this;
    const read = () => (options.all ? readUnresolvedKeys(db) : readDueKeys(db, context.clock.now(), limit));
    return retry(read, context, 'standalone');
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

  /** Judges the record, not the time by which it was found: another release may have written that. */
  async #sweepRecord(key: FoundKey, stored: KeyRecord): Promise<void> {
    const now = this.context.clock.now();
    const dueAt = getSweepDueAt(stored);
    if (dueAt === null || dueAt > now) {
      await this.#correct(key, dueAt);
      return;
    }
    const record = expireLease(stored, now);
    const unusable = describeUnusableIds(key, record);
    if (unusable !== null) await this.#leaveUnusable(key, record, unusable, now);
    else if (getSweepObstacle(record) !== null) await this.#leave(key, { kind: 'expireIfLapsed', caller: null }, now);
    else if (this.options.dryRun) this.#report(record, 'would_resume', record.failure);
    else await this.#resume(key, record, now);
  }

  async #resume(key: FoundKey, record: KeyRecord, now: number): Promise<void> {
    const decision = { by: SWEEP, reason: record.failure, isAutomatic: true };
    try {
      const { outcome } = await takeOver(record, decision, this.db, this.context);
      if (outcome.kind === 'completed') this.#report(record, 'resumed', null);
      else if (outcome.kind === 'failed')
        this.#report(record, outcome.retryAfterMs === null ? 'left' : 'deferred', outcome.reason);
      else this.#report(record, 'deferred', toResolutionError(outcome).message);
    } catch (error) {
      if (!(error instanceof ResolutionError && error.code === 'payload_unusable')) throw error;
      await this.#leaveUnusable(key, record, error.message, now);
    }
  }

  /** Gives a record that is not due, as one of another release may be, the time at which it is. */
  async #correct(key: FoundKey, dueAt: number | null): Promise<void> {
    if (this.options.dryRun || key.sweepDueAt === dueAt) return;
    await this.db.commit((writes) => setSweepDueAt(writes, key, dueAt));
  }

  #leaveUnusable(key: FoundKey, { document_id }: KeyRecord, reason: string, now: number): Promise<void> {
    return this.#leave(key, { kind: 'payloadUnusable', document_id, reason }, now);
  }

  /** Leaves a key to an operator, and reports that if it was this sweep whose event took effect. */
  async #leave(key: FoundKey, event: KeyEvent, now: number): Promise<void> {
    const { record: after } = transition(key.record, event, now);
    if (after === undefined) return;
    const isOwn = this.options.dryRun || (await retry(() => this.#commitOwn(key, after), this.context, 'standalone'));
    if (isOwn) this.#report(after, 'left', getSweepObstacle(after));
  }

  /** The reply to a commit may be lost: a repeated try finds its own record, or that of somebody else. */
  async #commitOwn(key: FoundKey, after: KeyRecord): Promise<boolean> {
    const keys = new KeyStore(after.boq_list_id, this.db, this.context);
    try {
      await keys.commit(key, after);
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      this.context.signal.throwIfAborted();
      return keys.hasCommitted((await keys.read()).record);
    }
  }

  #report(record: KeyRecord, result: SweepResult['result'], reason: string | null): void {
    const { boq_list_id, document_id, trace_id, claimed_at } = record;
    this.summary[result] += 1;
    const sinceClaimMs = this.context.clock.now() - claimed_at;
    this.reporter.onResult({ boq_list_id, document_id, trace_id, result, reason }, sinceClaimMs);
  }
}

/** Ids that lead nowhere would be tried for ever. */
function describeUnusableIds(key: FoundKey, { boq_list_id, document_id }: KeyRecord): string | null {
  if (!isKeyOf(key.reference, boq_list_id)) return 'its boq_list_id is that of another record';
  return isDocumentId(document_id) ? null : 'its document_id is no id of a document';
}
