import { isDeepStrictEqual } from 'node:util';
import { isDocumentId } from '../lib/document-id';
import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { isConflict, retry } from '../lib/firestore/retry';
import { isKeyOf, readKey, setSweepDueAt, type FoundKey } from '../lib/repositories/price-lists';
import { readDueKeys, readUnresolvedKeys } from '../lib/repositories/stored-price-lists';
import type { RequestContext } from '../lib/request-context';
import { MAX_AUTOMATIC_RESUMES } from '../lib/runtime-options';
import type { KeyRecord } from '../lib/schemas/key-record';
import { commitEvent } from './apply-event';
import { expireLease, getSweepDueAt, getSweepObstacle, SWEEP, transition, type KeyEvent } from './key-state-machine';
import { ResolutionError } from './resolution-error';
import { resume } from './resume';

export interface SweepOptions {
  /** Maximum resumes at the same time; each holds a payload in memory. */
  concurrency: number;
  /** Reports what a sweep would do, and writes nothing. */
  dryRun: boolean;
  /** Looks at every unresolved key, also those of a release without `sweep_due_at`, and gives them that. */
  all: boolean;
  /** How often a sweep asks for what has become due while resumes are under way; Infinity: only when one ends. */
  askIntervalMs: number;
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

/**
 * Resumes, without an operator, the attempts that are due (`getSweepDueAt`), each once, until none is. Every change is an event
 * of the state machine, so sweeps may overlap with each other, with operators and with owners.
 *
 * When the signal aborts, the attempts under way are failed, and the next sweep resumes them.
 *
 * @throws the error of reading what is due
 */
export const sweep = (
  db: Database,
  context: RequestContext,
  options: SweepOptions,
  reporter: SweepReporter,
): Promise<SweepSummary> => new Sweeper(db, context, options, reporter).run();

/** Of the deployed sweep and of the command. */
export const ASK_INTERVAL_MS = 10_000;

/** Keys of one reading. */
const KEYS_PER_READING = 100;

class Sweeper {
  /** Work on keys, by the path of their records. */
  readonly #running = new Map<string, Promise<void>>();
  /** Found due, and not started yet. */
  #waiting: FoundKey[] = [];
  /** Paths of what this sweep has begun with. */
  readonly #tried = new Set<string>();
  readonly #summary: SweepSummary = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };

  constructor(
    private readonly db: Database,
    private readonly context: RequestContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
  ) {}

  async run(): Promise<SweepSummary> {
    const { signal } = this.context;
    try {
      while (!signal.aborted) {
        if (this.#waiting.length === 0) await this.#ask();
        this.#startWaiting();
        if (this.#running.size === 0) break;
        await this.#pause();
      }
    } catch (error) {
      // What fails once the signal has aborted fails because of that.
      if (!signal.aborted) throw error;
    } finally {
      await Promise.all(this.#running.values());
    }
    return this.#summary;
  }

  /** Reads what is due, the longest first, without what this sweep has tried. */
  async #ask(): Promise<void> {
    const { db, context } = this;
    const limit = KEYS_PER_READING + this.#tried.size;
    const read = () => (this.options.all ? readUnresolvedKeys(db) : readDueKeys(db, context.clock.now(), limit));
    const found = await retry(read, context);
    this.#waiting = found.filter(({ reference }) => !this.#tried.has(reference.path));
  }

  #startWaiting(): void {
    const { concurrency, stopping } = this.options;
    while (this.#running.size < concurrency && stopping?.aborted !== true) {
      const key = this.#waiting.shift();
      if (key === undefined) return;
      const { path } = key.reference;
      this.#tried.add(path);
      this.#running.set(
        path,
        this.#sweepKey(key).finally(() => this.#running.delete(path)),
      );
    }
  }

  /** Waits until the work on a key ends, or it is time to ask again. */
  async #pause(): Promise<void> {
    const { clock, signal } = this.context;
    const { askIntervalMs } = this.options;
    const ended = new AbortController();
    const waits = [...this.#running.values()];
    if (askIntervalMs < Infinity) {
      const sleep = clock.sleep(askIntervalMs, AbortSignal.any([signal, ended.signal]));
      waits.push(sleep.catch(() => undefined));
    }
    await Promise.race(waits);
    ended.abort();
  }

  async #sweepKey(key: FoundKey): Promise<void> {
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

  async #sweepRecord(key: FoundKey, stored: KeyRecord): Promise<void> {
    const now = this.context.clock.now();
    const dueAt = getSweepDueAt(stored);
    if (dueAt === null || dueAt > now) {
      await this.#correct(key, dueAt);
      return;
    }
    const record = expireLease(stored, now);
    const unusable = describeUnusableIds(key, record);
    if (unusable !== null) {
      await this.#leave(key, { kind: 'payloadUnusable', document_id: record.document_id, reason: unusable }, now);
      return;
    }
    if (getSweepObstacle(record, MAX_AUTOMATIC_RESUMES) !== null) {
      await this.#leave(key, { kind: 'leaseChecked', caller: null }, now);
      return;
    }
    await this.#resume(key, record, now);
  }

  async #resume(key: FoundKey, record: KeyRecord, now: number): Promise<void> {
    if (this.options.dryRun) {
      this.#report(record, 'would_resume', record.failure);
      return;
    }
    const decision = { by: SWEEP, reason: record.failure, maxResumes: MAX_AUTOMATIC_RESUMES };
    const failed = { needsOperator: false };
    const onFailed = (needsOperator: boolean) => Object.assign(failed, { needsOperator });
    try {
      await resume(record, decision, this.db, this.context, { onFailed });
      this.#report(record, 'resumed', null);
    } catch (error) {
      const reason = getErrorMessage(error);
      if (error instanceof ResolutionError && error.code === 'payload_unusable') {
        await this.#leave(key, { kind: 'payloadUnusable', document_id: record.document_id, reason }, now);
      } else {
        this.#report(record, failed.needsOperator ? 'left' : 'deferred', reason);
      }
    }
  }

  /** Gives a record that is not due, as one of another release may be, the time at which it is. */
  async #correct(key: FoundKey, dueAt: number | null): Promise<void> {
    if (this.options.dryRun || key.sweepDueAt === dueAt) return;
    try {
      await this.db.commit((writes) => setSweepDueAt(writes, key, dueAt));
    } catch (error) {
      // Whoever has changed it meanwhile has given it the right time.
      if (!isConflict(error)) throw error;
    }
  }

  /** Leaves a key to an operator, and reports that if it was this sweep whose event took effect. */
  async #leave(key: FoundKey, event: KeyEvent, now: number): Promise<void> {
    const { record: after } = transition(key.record, event, now);
    if (after === undefined) return;
    if (!this.options.dryRun) {
      const isOwn = await retry(() => this.#commitOwn(key, event, now, after), this.context);
      if (!isOwn) return;
    }
    this.#report(after, 'left', getSweepObstacle(after, MAX_AUTOMATIC_RESUMES));
  }

  /** The reply to a commit may be lost: a repeated try finds its own record, or that of somebody else. */
  async #commitOwn(key: FoundKey, event: KeyEvent, now: number, after: KeyRecord): Promise<boolean> {
    try {
      await commitEvent(key, event, now, this.db, this.context);
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      // Nobody waits for a try whose signal aborted.
      this.context.signal.throwIfAborted();
      return isDeepStrictEqual((await readKey(this.db, after.boq_list_id)).record, after);
    }
  }

  #report(record: KeyRecord, result: SweepResult['result'], reason: string | null): void {
    const { boq_list_id, document_id, trace_id, claimed_at } = record;
    this.#summary[result] += 1;
    const sinceClaimMs = this.context.clock.now() - claimed_at;
    this.reporter.onResult({ boq_list_id, document_id, trace_id, result, reason }, sinceClaimMs);
  }
}

/** Ids that lead nowhere would be tried for ever. */
function describeUnusableIds(key: FoundKey, { boq_list_id, document_id }: KeyRecord): string | null {
  if (!isKeyOf(key.reference, boq_list_id)) return 'its boq_list_id is that of another record';
  return isDocumentId(document_id) ? null : 'its document_id is no id of a document';
}
