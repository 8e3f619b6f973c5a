import { takeStep } from '../src/price-lists/key-steps';
import { expireLease, getSweepObstacle } from '../src/price-lists/key-state-machine';
import { retry } from '../src/lib/firestore/retry';
import type { KeyRecord } from '../src/lib/schemas/key-record';
import { listKeyRecords } from './stored-records';
import { InvalidPayloadError, resume, type OperatorContext } from './review';
import { describeError, describeUnreadable } from './terminal';

/**
 * The sweep: resumes, without an operator, attempts whose lease expired or that failed for a cause that passes. Every
 * step is one of the state machine's, so a sweep beside another, an operator or the owner itself changes nothing twice.
 */

export interface SweepOptions {
  /** Resumes of one attempt without an operator. */
  maxResumes: number;
  dryRun: boolean;
  /** Resumes under way at once. */
  concurrency: number;
}

/** What the sweep did about one key. */
export interface SweepResult {
  boq_list_id: string;
  document_id: string;
  /** `left`: to an operator. `deferred`: an owner, an operator or another sweep is at it, or the resume failed. */
  result: 'resumed' | 'would_resume' | 'left' | 'deferred';
  reason: string | null;
}

/** Where a sweep tells what it did, and what it could not read. */
export interface SweepReporter {
  onResult: (result: SweepResult) => void;
  onWarning: (text: string) => void;
}

/** After the end of a lease, and between two looks at the keys at least. */
const MIN_PAUSE_MS = 1_000;

export class Sweeper {
  /** Attempts at work here, by `document_id`. */
  readonly #running = new Map<string, Promise<void>>();
  /** Found by the last look, and not started yet. */
  #waiting: KeyRecord[] = [];
  /** Attempts whose stored payload is invalid, and why: it is not read again. */
  readonly #invalid = new Map<string, string>();
  /** What was last reported of an attempt that is left to an operator: each reason is reported once. */
  readonly #reported = new Map<string, string>();
  /** Paths of key records that cannot be read: each is named once. */
  readonly #unreadable = new Set<string>();

  constructor(
    private readonly context: OperatorContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
  ) {}

  /** Resumes what can be resumed now. */
  async sweepOnce(): Promise<void> {
    await this.#startDue();
    // Each that ends starts the next.
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** Looks at the keys every `intervalMs`, and as soon as a lease expires, until the signal aborts. */
  async watch(intervalMs: number): Promise<void> {
    const { clock, signal } = this.context.db;
    while (!signal.aborted) {
      let pauseMs = intervalMs;
      try {
        const nextExpiry = await this.#startDue();
        pauseMs = Math.min(intervalMs, Math.max(MIN_PAUSE_MS, nextExpiry - clock.now() + MIN_PAUSE_MS));
      } catch (error) {
        if (!this.context.db.signal.aborted)
          this.reporter.onWarning(`The keys could not be read: ${describeError(error)}`);
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
    await Promise.all(this.#running.values());
  }

  /** Looks at the keys, and starts what is due and not at work. @returns when the next lease expires */
  async #startDue(): Promise<number> {
    const { db } = this.context;
    const { records, unreadable } = await retry(() => listKeyRecords(db, ['processing', 'requires_review']), db);
    for (const path of unreadable) this.#warnOfUnreadable(path);
    const now = db.clock.now();
    const expired = records.map((record) => expireLease(record, now));
    this.#waiting = expired
      .filter(({ status, document_id }) => status === 'requires_review' && !this.#running.has(document_id))
      .sort((a, b) => a.updated_at - b.updated_at);
    this.#startWaiting();
    const leases = expired.filter(({ status }) => status === 'processing').map((live) => live.lease_expires_at);
    return Math.min(...leases, Infinity);
  }

  #warnOfUnreadable(path: string): void {
    if (!this.#unreadable.has(path)) this.reporter.onWarning(describeUnreadable(path));
    this.#unreadable.add(path);
  }

  #startWaiting(): void {
    while (this.#running.size < this.options.concurrency && !this.context.db.signal.aborted) {
      const record = this.#waiting.shift();
      if (record === undefined) return;
      const { document_id } = record;
      const work = this.#sweepKey(record).finally(() => {
        this.#running.delete(document_id);
        this.#startWaiting();
      });
      this.#running.set(document_id, work);
    }
  }

  async #sweepKey(record: KeyRecord): Promise<void> {
    const { maxResumes, dryRun } = this.options;
    const obstacle = this.#invalid.get(record.document_id) ?? getSweepObstacle(record, maxResumes);
    if (obstacle !== null) return this.#leave(record, obstacle);
    if (dryRun) {
      this.#tell(record, 'would_resume', record.failure);
      return;
    }
    try {
      await resume(record, { by: 'sweep', reason: record.failure, maxResumes }, this.context);
      this.#tell(record, 'resumed', null);
    } catch (error) {
      if (!(error instanceof InvalidPayloadError)) {
        this.#tell(record, 'deferred', describeError(error));
        return;
      }
      this.#invalid.set(record.document_id, error.message);
      await this.#leave(record, error.message);
    }
  }

  /** Leaves a key to an operator, its lists failed if only its lease had expired. */
  async #leave(record: KeyRecord, reason: string): Promise<void> {
    if (this.#reported.get(record.document_id) === reason) return;
    this.#reported.set(record.document_id, reason);
    this.#tell(record, 'left', reason);
    if (this.options.dryRun) return;
    const event = { kind: 'inspected', attempt: {} } as const;
    await takeStep(this.context.db, record.boq_list_id, event).catch(() => this.#reported.delete(record.document_id));
  }

  #tell({ boq_list_id, document_id }: KeyRecord, result: SweepResult['result'], reason: string | null): void {
    this.reporter.onResult({ boq_list_id, document_id, result, reason });
  }
}
