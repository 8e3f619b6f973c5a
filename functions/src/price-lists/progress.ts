import type { Clock } from '../lib/clock';
import type { KeyRecord, Progress } from '../lib/schemas/key-record';

/** The number of entries of both lists in one round of commits, and the duration of a slow round. */
const ENTRIES_PER_ROUND = 1_000;
const SLOW_ROUND_MS = 800;
const SLOW_START_MS = 1_000;

/** Limits the wait of clients, because the process may be killed while they wait. */
const MAX_ESTIMATE_MS = 300_000;

/** Limits estimates before progress was measured, because the attempt may be much faster than a slow one. */
const MAX_FIRST_ESTIMATE_MS = 10_000;

const MIN_ESTIMATE_MS = 1_000;

/**
 * Estimates how long the attempt in progress still needs. The estimate uses the number of products
 * until the owner has renewed the lease, then the pace so far. An overdue attempt may need as long
 * again, but not beyond the end of its lease.
 *
 * @returns ms, from one second to five minutes; at most ten seconds before any progress was measured
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

/** Number of written entries of both lists, and their total. */
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
