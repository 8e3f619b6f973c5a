import { getErrorMessage } from '../lib/errors';
import type { Database } from '../lib/firestore/database';
import { retry } from '../lib/firestore/retry';
import { readKeyRecords } from '../lib/repositories/stored-price-lists';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { applyEvent } from './apply-event';
import { describePermanentFailure, expireLease, getSweepObstacle, type KeyEvent } from './key-state-machine';
import { ResolutionError } from './resolution-error';
import { resume } from './resume';

export interface SweepOptions {
  /** Maximum resumes of one attempt without an operator. */
  maxResumes: number;
  /** Maximum resumes at the same time; each holds a payload in memory. */
  concurrency: number;
  /** Reports what a sweep would resume, and writes nothing. */
  dryRun: boolean;
  /** `until_idle`: ends when nothing is due, and tries each attempt once. `watch`: until the signal aborts. */
  mode: 'until_idle' | 'watch';
  /** Milliseconds from one scan to the next; less if a lease expires before. Infinity: only when nothing is under way. */
  scanIntervalMs: number;
}

/** What the sweep did about one key. */
export interface SweepResult {
  boq_list_id: string;
  document_id: string;
  /** Trace of the request that claimed the key; null without one. */
  trace_id: string | null;
  /** `left`: to an operator. `deferred`: an owner, an operator or another sweep is at it, or the resume failed. */
  result: 'resumed' | 'would_resume' | 'left' | 'deferred';
  reason: string | null;
}

/** How many keys had each result; those that are left to an operator count in every sweep that finds them. */
export type SweepSummary = Record<SweepResult['result'], number>;

/** What the sweeps of a process found about attempts that are left to an operator, so that none repeats it. */
export interface SweepMemory {
  /** What was last reported of an attempt: each reason is reported once. */
  readonly reported: Map<string, string>;
  /** Paths of key records that do not parse. */
  readonly unreadable: Set<string>;
}

export const createSweepMemory = (): SweepMemory => ({
  reported: new Map(),
  unreadable: new Set(),
});

/** Where a sweep tells what it did, and what it could not read. */
export interface SweepReporter {
  /** `sinceClaimMs`: the age of the attempt. */
  onResult: (result: SweepResult, sinceClaimMs: number) => void;
  /** A key record does not parse; each is reported once a memory. */
  onUnreadable: (path: string) => void;
  /** A scan failed while watching; the next one follows. */
  onScanFailed: (error: unknown) => void;
}

/**
 * Resumes, without an operator, attempts whose lease expired or that failed for a transient cause. Every change is an
 * event of the state machine, so sweeps may overlap with each other, with operators and with owners.
 *
 * When the signal aborts, the attempts under way are failed as stopped, so that the next sweep resumes them at once.
 *
 * @throws the error of a scan with `until_idle`
 */
export const sweep = (
  db: Database,
  context: RequestContext,
  options: SweepOptions,
  reporter: SweepReporter,
  memory = createSweepMemory(),
): Promise<SweepSummary> => new Sweeper(db, context, options, reporter, memory).run();

/** Minimum pause between scans, and from the expiry of a lease to its scan. */
const MIN_PAUSE_MS = 1_000;

class Sweeper {
  /** Resumes under way, by `document_id`. */
  readonly #running = new Map<string, Promise<void>>();
  /** Found by the last scan, and not started yet. */
  #waiting: KeyRecord[] = [];
  /** Attempts that were tried; only `until_idle` asks. */
  readonly #tried = new Set<string>();
  readonly #summary: SweepSummary = { resumed: 0, would_resume: 0, left: 0, deferred: 0 };

  constructor(
    private readonly db: Database,
    private readonly context: RequestContext,
    private readonly options: SweepOptions,
    private readonly reporter: SweepReporter,
    private readonly memory: SweepMemory,
  ) {}

  async run(): Promise<SweepSummary> {
    const { signal, clock } = this.context;
    try {
      while (!signal.aborted) {
        const nextExpiry = await this.#tryScan();
        if (this.options.mode === 'until_idle' && this.#running.size === 0) break;
        await this.#pause(nextExpiry - clock.now());
      }
    } finally {
      await this.#waitForRunning();
    }
    return this.#summary;
  }

  /** Waits for the next scan: for the interval, or until a lease expires; `until_idle` also until nothing is under way. */
  async #pause(untilExpiryMs: number): Promise<void> {
    const { mode, scanIntervalMs } = this.options;
    const { clock, signal } = this.context;
    const ended = new AbortController();
    const waits: Promise<void>[] = [];
    if (mode === 'until_idle') waits.push(this.#waitForRunning());
    if (scanIntervalMs < Infinity) {
      const ms = Math.min(scanIntervalMs, untilExpiryMs + MIN_PAUSE_MS);
      const sleep = clock.sleep(Math.max(MIN_PAUSE_MS, ms), AbortSignal.any([signal, ended.signal]));
      waits.push(sleep.catch(() => undefined));
    }
    await Promise.race(waits);
    ended.abort();
  }

  async #waitForRunning(): Promise<void> {
    // Each that ends may start the next.
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** The same as a scan, but an error while watching is reported, and one after the signal aborted is its consequence. */
  async #tryScan(): Promise<number> {
    try {
      return await this.#scan();
    } catch (error) {
      if (this.context.signal.aborted) return Infinity;
      if (this.options.mode === 'until_idle') throw error;
      this.reporter.onScanFailed(error);
      return Infinity;
    }
  }

  /** Reads the open keys, and starts what is due. @returns when the next lease expires */
  async #scan(): Promise<number> {
    const { db, context } = this;
    const { records, unreadable } = await retry(() => readKeyRecords(db, ['processing', 'requires_review']), context);
    for (const path of unreadable) this.#reportUnreadable(path);
    const now = context.clock.now();
    const current = records.map((record) => expireLease(record, now));
    this.#waiting = current.filter((record) => this.#isDue(record)).sort((a, b) => a.updated_at - b.updated_at);
    this.#startWaiting();
    const leases = current.filter(({ status }) => status === 'processing').map((live) => live.lease_expires_at);
    return Math.min(...leases, Infinity);
  }

  #isDue({ status, document_id }: KeyRecord): boolean {
    if (status !== 'requires_review' || this.#running.has(document_id)) return false;
    return this.options.mode === 'watch' || !this.#tried.has(document_id);
  }

  #reportUnreadable(path: string): void {
    if (!this.memory.unreadable.has(path)) this.reporter.onUnreadable(path);
    this.memory.unreadable.add(path);
  }

  #startWaiting(): void {
    while (this.#running.size < this.options.concurrency && !this.context.signal.aborted) {
      const record = this.#waiting.shift();
      if (record === undefined) return;
      const { document_id } = record;
      this.#tried.add(document_id);
      if (this.#isKnownAsLeft(record)) continue;
      const work = this.#sweepKey(record).finally(() => {
        this.#running.delete(document_id);
        this.#startWaiting();
      });
      this.#running.set(document_id, work);
    }
  }

  async #sweepKey(record: KeyRecord): Promise<void> {
    const { maxResumes, dryRun } = this.options;
    const obstacle = getSweepObstacle(record, maxResumes);
    if (obstacle !== null) return this.#leave(record, obstacle, { kind: 'leaseChecked', caller: null });
    if (dryRun) {
      this.#report(record, 'would_resume', record.failure);
      return;
    }
    try {
      await resume(record, { by: 'sweep', reason: record.failure, maxResumes }, this.db, this.context);
      this.#report(record, 'resumed', null);
    } catch (error) {
      const reason = getErrorMessage(error);
      if (!(error instanceof ResolutionError && error.code === 'payload_unusable')) {
        this.#report(record, 'deferred', reason);
        return;
      }
      const event = { kind: 'payloadUnusable', document_id: record.document_id, reason } as const;
      await this.#leave(record, describePermanentFailure(reason), event);
    }
  }

  /** Counts a key that an earlier scan left to an operator for the same reason: there is nothing else to do about it. */
  #isKnownAsLeft(record: KeyRecord): boolean {
    const obstacle = getSweepObstacle(record, this.options.maxResumes);
    const isKnown = obstacle !== null && this.memory.reported.get(record.document_id) === obstacle;
    if (isKnown) this.#summary.left += 1;
    return isKnown;
  }

  /** Leaves a key to an operator, by an event that tells the key's record, and its lists if only its lease had expired. */
  async #leave(record: KeyRecord, reason: string, event: KeyEvent): Promise<void> {
    const { reported } = this.memory;
    reported.set(record.document_id, reason);
    this.#report(record, 'left', reason);
    if (this.options.dryRun) return;
    await applyEvent(record.boq_list_id, event, this.db, this.context).catch(() => reported.delete(record.document_id));
  }

  #report(record: KeyRecord, result: SweepResult['result'], reason: string | null): void {
    const { boq_list_id, document_id, trace_id, claimed_at } = record;
    this.#summary[result] += 1;
    const sinceClaimMs = this.context.clock.now() - claimed_at;
    this.reporter.onResult({ boq_list_id, document_id, trace_id, result, reason }, sinceClaimMs);
  }
}
