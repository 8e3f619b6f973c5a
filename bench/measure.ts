import { MEMORY_PROBE_ENV, type DeployedFunction } from '../dev/run/deployed';
import { sendOk, type BenchRequest } from './client';
import { startFunction, type BenchDatabase, type Variant } from './stack';

/** Repeats measurements, and computes their statistics. Several programs are measured in turn. */

export interface Stats {
  median: number;
  min: number;
  max: number;
}

export function computeStats(values: readonly number[]): Stats {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
  return { median, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

/** Divides round by round, so that a slow moment of the machine affects both sides of a ratio. */
export const computeRatioStats = (a: readonly number[], b: readonly number[]): Stats =>
  computeStats(a.map((value, round) => value / (b[round] ?? NaN)));

/** Runs `work` with a deployed function, and stops the function even after an error. */
export async function withFunction<T>(
  starting: Promise<DeployedFunction>,
  work: (running: DeployedFunction) => Promise<T>,
): Promise<T> {
  const running = await starting;
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

/** Measures every variant in each round, after one round that does not count. Each round begins with the next variant. */
export async function measureInterleaved<V extends Variant, T>(
  variants: readonly V[],
  rounds: number,
  measure: (variant: V) => Promise<T>,
): Promise<Record<V, T[]>> {
  const empty = variants.map((variant): [V, T[]] => [variant, []]);
  const measured = Object.fromEntries(empty) as Record<V, T[]>;
  for (let round = -1; round < rounds; round += 1) {
    const turn = (round + 1) % variants.length;
    for (const variant of [...variants.slice(turn), ...variants.slice(0, turn)]) {
      const value = await measure(variant);
      if (round >= 0) measured[variant].push(value);
    }
  }
  return measured;
}

/** Measures like `measureInterleaved`, with one running function for each variant. */
export async function measureFunctions<V extends Variant, T>(
  variants: readonly V[],
  name: string,
  database: BenchDatabase,
  rounds: number,
  measure: (running: DeployedFunction) => Promise<T>,
): Promise<Record<V, T[]>> {
  const started = await Promise.all(
    variants.map(async (variant) => {
      return [variant, await startFunction(variant, name, database)] as const;
    }),
  );
  const running = Object.fromEntries(started) as Record<V, DeployedFunction>;
  try {
    return await measureInterleaved(variants, rounds, (variant) => measure(running[variant]));
  } finally {
    await Promise.all(started.map(([, { stop }]) => stop()));
  }
}

/**
 * Measures the peak memory of one request above that of the idle process, in MB, and counts the
 * request's calls to Firestore. Each round starts a process, which serves one small request first.
 */
export async function measurePeakMemory(
  name: string,
  database: BenchDatabase,
  small: BenchRequest,
  request: BenchRequest,
  rounds: number,
): Promise<{ peak: Stats; calls: number }> {
  const peaks: number[] = [];
  let calls = 0;
  for (let round = 0; round < rounds; round += 1) {
    await withFunction(startFunction('service', name, database, MEMORY_PROBE_ENV), async ({ port, readRss }) => {
      await sendOk(port, small);
      const idle = (await readRss()).rss;
      const before = await database.calls();
      await sendOk(port, request);
      peaks.push(((await readRss()).peakRss - idle) / 1_000_000);
      calls = (await database.calls()) - before;
    });
  }
  return { peak: computeStats(peaks), calls };
}
