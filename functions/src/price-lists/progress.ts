import type { Clock } from '../lib/clock';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';

/** Entries of both lists that fit one round of commits, and the time that a round takes on a slow day. */
const ENTRIES_PER_ROUND = 1_000;
const SLOW_ROUND_MS = 800;
const SLOW_START_MS = 1_000;

/** A process may be killed while clients wait, so no estimate sends them away for longer. */
const MAX_ESTIMATE_MS = 300_000;

/** Before any progress was measured: the attempt may be much faster than a slow day. */
const MAX_FIRST_ESTIMATE_MS = 10_000;

const MIN_ESTIMATE_MS = 1_000;

/**
 * Estimates how long the attempt in progress still needs. Once its owner has renewed the lease, the
 * pace so far decides; before, the number of products. An attempt that is overdue may take as long
 * again, or be over with its lease.
 *
 * @returns ms, from one second to five minutes; before any progress to ten seconds
 */
export function estimateRemainingMs(record: KeyRecord, now: number): number {
  const { since, expectedAt, maxMs } = predict(record);
  const remaining = expectedAt > now ? expectedAt - now : Math.min(now - since, record.lease_expires_at - now);
  return Math.min(Math.max(remaining, MIN_ESTIMATE_MS), maxMs);
}

interface Prediction {
  since: number;
  expectedAt: number;
  maxMs: number;
}

function predict({ progress, products_count, claimed_at }: KeyRecord): Prediction {
  if (progress === null || progress.entries_written === 0) {
    const rounds = Math.ceil((2 * products_count) / ENTRIES_PER_ROUND);
    const expectedAt = claimed_at + SLOW_START_MS + rounds * SLOW_ROUND_MS;
    return { since: claimed_at, expectedAt, maxMs: MAX_FIRST_ESTIMATE_MS };
  }
  const { entries_written, entries_total, started_at, measured_at } = progress;
  const msPerEntry = (measured_at - started_at) / entries_written;
  const expectedAt = measured_at + (entries_total - entries_written) * msPerEntry;
  return { since: measured_at, expectedAt, maxMs: MAX_ESTIMATE_MS };
}

/** How many entries of both lists are written. */
export type WrittenEntries = Pick<Progress, 'entries_written' | 'entries_total'>;

/** Counts the entries that an attempt writes, for its key record and for an operator who waits. */
export class ProgressMeter {
  #written = 0;
  #total = 0;
  #startedAt: number;

  /** @param onProgress called when the writing begins, and after each batch */
  constructor(
    private readonly clock: Clock,
    private readonly onProgress: (written: WrittenEntries) => void = () => undefined,
  ) {
    this.#startedAt = clock.now();
  }

  /** How far the attempt has come. */
  get current(): WrittenEntries & { started_at: number } {
    return { entries_written: this.#written, entries_total: this.#total, started_at: this.#startedAt };
  }

  start(total: number): void {
    this.#total = total;
    this.#startedAt = this.clock.now();
    this.onProgress(this.current);
  }

  add(entries: number): void {
    this.#written += entries;
    this.onProgress(this.current);
  }
}
