import { setTimeout as sleep } from 'node:timers/promises';
import { timeRequest, type BenchResponse, type BenchRequest } from './client';
import {
  readProcessMemory,
  resetPeakMemory,
  startFunction,
  type BenchDatabase,
  type FunctionProcess,
  type Baseline,
  type Variant,
} from './stack';

/** Repeated, interleaved measurements and their statistics. */

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

/** Ratios per round, so that a slow moment of the machine affects both sides. */
export const computeRatioStats = (a: readonly number[], b: readonly number[]): Stats =>
  computeStats(a.map((value, round) => value / (b[round] ?? NaN)));

export type FunctionsByVariant<V extends Variant | Baseline = Variant> = Record<V, FunctionProcess>;

/** Runs `work` with the same function of several variants, and always stops them. */
export async function withFunctions<V extends Variant | Baseline, T>(
  variants: readonly V[],
  name: string,
  { address }: BenchDatabase,
  work: (side: FunctionsByVariant<V>) => Promise<T>,
): Promise<T> {
  const started = await Promise.all(variants.map((variant) => startFunction(variant, name, address)));
  try {
    return await work(Object.fromEntries(variants.map((variant, i) => [variant, started[i]])) as FunctionsByVariant<V>);
  } finally {
    await Promise.all(started.map((running) => running.stop()));
  }
}

/** Measures every variant in each round, starting with a different one each time, after one warm-up round. */
export async function measureInterleaved<V extends Variant | Baseline, T>(
  side: FunctionsByVariant<V>,
  rounds: number,
  measure: (running: FunctionProcess, variant: V) => Promise<T>,
): Promise<Record<V, T[]>> {
  const variants = Object.keys(side) as V[];
  const measured = Object.fromEntries(variants.map((variant) => [variant, []])) as unknown as Record<V, T[]>;
  for (let round = -1; round < rounds; round += 1) {
    const turn = (round + 1) % variants.length;
    for (const variant of [...variants.slice(turn), ...variants.slice(0, turn)]) {
      const value = await measure(side[variant], variant);
      if (round >= 0) measured[variant].push(value);
    }
  }
  return measured;
}

/** @throws unless the response is a 200 */
export async function requestOk(port: number, request: BenchRequest): Promise<BenchResponse> {
  const response = await timeRequest(port, request);
  if (response.status !== 200)
    throw new Error(`a request of the bench failed with ${response.status}: ${response.tail}`);
  return response;
}

export interface MemoryPeak {
  /** MB above what the process used before the request. */
  peakMb: Stats;
  /** RPCs to Firestore. */
  calls: number;
  response: BenchResponse;
}

/** Peak memory of one request, in a process that has served one small request; `rounds` times, each in a new process. */
export async function measurePeakMemory(
  variant: Variant,
  name: string,
  database: BenchDatabase,
  small: BenchRequest,
  createRequest: () => BenchRequest,
  rounds: number,
): Promise<MemoryPeak> {
  const measure = () =>
    withFunctions([variant], name, database, async (side) => {
      const running = side[variant];
      await timeRequest(running.port, small);
      await sleep(200);
      const request = createRequest();
      resetPeakMemory(running.pid);
      const idle = readProcessMemory(running.pid).now;
      const before = await database.calls();
      const response = await timeRequest(running.port, request);
      const { peak } = readProcessMemory(running.pid);
      return { peakMb: peak - idle, calls: (await database.calls()) - before, response };
    });
  let last = await measure();
  const peaks = [last.peakMb];
  while (peaks.length < rounds) {
    last = await measure();
    peaks.push(last.peakMb);
  }
  return { ...last, peakMb: computeStats(peaks) };
}

/** The most that one request retains after garbage collection, in MB, sampled while it runs. */
export async function measureLiveMemory(
  variant: Variant,
  name: string,
  { address }: BenchDatabase,
  small: BenchRequest,
  request: BenchRequest,
): Promise<number> {
  const running = await startFunction(variant, name, address, ['--expose-gc']);
  try {
    await requestOk(running.port, small);
    const idle = await running.liveMb();
    const progress = { isDone: false };
    const pending = requestOk(running.port, request).finally(() => (progress.isDone = true));
    let max = idle;
    while (!progress.isDone) {
      max = Math.max(max, await running.liveMb());
      await sleep(100);
    }
    await pending;
    return max - idle;
  } finally {
    await running.stop();
  }
}
