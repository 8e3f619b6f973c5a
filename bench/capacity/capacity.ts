import { getPauseMs } from '../../functions/src/lib/firestore/retry';
import { FAILURE_RESERVE_MS, RESPONSE_RESERVE_MS } from '../../functions/src/lib/time-limits';
import { writeOptions } from '../../functions/src/lib/runtime-options';
import { MAX_ENTRIES_PER_COMMIT } from '../../functions/src/price-lists/commit-sizes';
import { SeededRandom } from '../../functions/test/simulation/random';
import { renderTable } from '../tables';

/**
 * A model of creations against a production Firestore: only delays, limits and the service's own
 * pauses, in virtual time. It shows how long a list takes and what many lists at once do to each
 * other (docs/performance.md#scale).
 */

/** Delays and limits of Cloud Firestore. */
export const PRODUCTION = {
  /** Median of a commit of 500 writes, and of a read or a small commit, in ms. */
  commitMs: 770,
  smallCallMs: 30,
  /** Standard deviation of the logarithm of a delay; 0.4: one in 100 takes 2.5 times the median. */
  deviation: 0.4,
  /** Share of calls that take `tailFactor` times as long. */
  tailShare: 0.01,
  tailFactor: 5,
  /** Writes per second that a new collection takes, and by how much more after each period. */
  collectionWritesPerSecond: 500,
  rampFactor: 1.5,
  rampPeriodMs: 300_000,
  /** Writes per second that the database takes in all: an assumption, Firestore publishes none. */
  databaseWritesPerSecond: 10_000,
};

/** Time for the work of a creation: the timeout without the time to fail it and to respond. */
const RESERVE_MS = FAILURE_RESERVE_MS + RESPONSE_RESERVE_MS;
const CREATION_BUDGET_MS = writeOptions.timeoutSeconds * 1000 - RESERVE_MS;

/** Calls before and after the batches: read key and market, claim, complete. */
export const CALLS_IN_A_ROW = 3;

/** Calls besides the batches: the read of the key that the completion needs runs beside them. */
export const FIXED_CALLS = CALLS_IN_A_ROW + 1;

export interface CreationLoad {
  products: number;
  /** Creations that start within the first second. */
  lists: number;
  seed: number;
}

export interface CreationOutcome {
  /** Durations of the creations that completed, ascending, in ms. */
  durations: number[];
  /** Creations whose time was up. */
  timedOut: number;
}

interface Writer {
  /** When its next commit begins. */
  at: number;
  list: number;
  /** Entries left to write. */
  pending: number;
  /** Commits that were rejected since the last success. */
  failures: number;
  collection: RateLimit;
}

interface Creation {
  startedAt: number;
  /** Writers that are not done; -1 when the creation has ended early. */
  writers: number;
}

/** Writes per second that grow from period to period, with a burst of one second. */
class RateLimit {
  #available: number;
  #at: number;

  constructor(
    private readonly startedAt: number,
    private readonly initialRate: number,
    private readonly factor: number,
    private readonly periodMs: number,
  ) {
    this.#available = initialRate;
    this.#at = startedAt;
  }

  /** @returns whether `count` writes are within the limit at `now`, and if so, takes them */
  take(count: number, now: number): boolean {
    const periods = Math.floor((now - this.startedAt) / this.periodMs);
    const rate = this.initialRate * this.factor ** periods;
    this.#available = Math.min(rate, this.#available + ((now - this.#at) / 1000) * rate);
    this.#at = now;
    if (this.#available < count) return false;
    this.#available -= count;
    return true;
  }
}

/** Runs creations until each has completed or failed. Equal arguments give equal results. */
export function simulateCreations(load: CreationLoad, profile = PRODUCTION): CreationOutcome {
  const random = new SeededRandom(load.seed);
  const delay = (median: number) => {
    const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
    const normal = radius * Math.cos(2 * Math.PI * random.next());
    const tail = random.chance(profile.tailShare) ? profile.tailFactor : 1;
    return median * Math.exp(profile.deviation * normal) * tail;
  };
  const smallCalls = (count: number) => {
    const delays = Array.from({ length: count }, () => delay(profile.smallCallMs));
    return delays.reduce((sum, ms) => sum + ms, 0);
  };
  const database = new RateLimit(0, profile.databaseWritesPerSecond, 1, Infinity);
  const outcome: CreationOutcome = { durations: [], timedOut: 0 };
  const writers: Writer[] = [];
  const creations = Array.from({ length: load.lists }, (_, list): Creation => {
    const startedAt = (list * 1000) / load.lists;
    const readyAt = startedAt + smallCalls(CALLS_IN_A_ROW - 1);
    for (let each = 0; each < 2; each += 1) {
      const { collectionWritesPerSecond: rate, rampFactor, rampPeriodMs } = profile;
      const collection = new RateLimit(readyAt, rate, rampFactor, rampPeriodMs);
      writers.push({ at: readyAt, list, pending: load.products, failures: 0, collection });
    }
    return { startedAt, writers: 2 };
  });

  for (;;) {
    const writer = writers.sort((a, b) => a.at - b.at).shift();
    if (writer === undefined) break;
    const { at } = writer;
    const creation = creations[writer.list];
    if (creation === undefined || creation.writers < 0) continue;
    if (at - creation.startedAt > CREATION_BUDGET_MS) {
      creation.writers = -1;
      outcome.timedOut += 1;
    } else if (writer.pending <= 0) {
      creation.writers -= 1;
      if (creation.writers === 0) outcome.durations.push(at + smallCalls(1) - creation.startedAt);
    } else {
      commit(writer, at);
      writers.push(writer);
    }
  }
  outcome.durations.sort((a, b) => a - b);
  return outcome;

  function commit(writer: Writer, at: number): void {
    const count = Math.min(MAX_ENTRIES_PER_COMMIT, writer.pending);
    if (writer.collection.take(count, at) && database.take(count, at)) {
      writer.pending -= count;
      writer.failures = 0;
      writer.at += (delay(profile.commitMs) * count) / MAX_ENTRIES_PER_COMMIT;
      return;
    }
    const backoffMs = getPauseMs(writer.failures, true, () => random.next());
    writer.failures += 1;
    writer.at += delay(profile.smallCallMs) + backoffMs;
  }
}

/** The largest body that the platform accepts holds about so many products. */
export const MAX_PRODUCTS = 364_000;

const LOADS: readonly Omit<CreationLoad, 'seed'>[] = [
  { products: 1_000, lists: 1 },
  { products: 100_000, lists: 1 },
  { products: MAX_PRODUCTS, lists: 1 },
  { products: 550_000, lists: 1 },
  { products: 600_000, lists: 1 },
  { products: MAX_PRODUCTS, lists: 4 },
  { products: 100_000, lists: 12 },
  { products: 100_000, lists: 40 },
  { products: 100_000, lists: 80 },
];

/** The table of docs/performance.md#scale, as Markdown. */
export function renderCapacityTable(seed = 1): string {
  const seconds = (ms: number | undefined) => {
    return ms === undefined ? '–' : (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);
  };
  const rows = LOADS.map((load) => {
    const { durations, timedOut } = simulateCreations({ ...load, seed });
    const times = [durations[durations.length >> 1], durations.at(-1)].map(seconds);
    return [load.products.toLocaleString('en'), load.lists, ...times, timedOut];
  });
  return renderTable(['Products', 'Lists', 'Median s', 'Slowest s', 'Timed out'], rows, 0);
}
