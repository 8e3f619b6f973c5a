import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Answered, type Asked } from './client';
import { memoryOf, resetPeak, startFunction, type Database, type Running, type Variant } from './stack';

/** Figures, each measured some times over, and what is made of them. */

/** The middle of some values, and the range that they cover. */
export interface Spread {
  median: number;
  least: number;
  most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
  return { median, least: sorted[0] ?? NaN, most: sorted.at(-1) ?? NaN };
}

/** How one of two that ran side by side compares with the other, round by round, so that a slow moment strikes both. */
export const ratioOf = (a: readonly number[], b: readonly number[]): Spread =>
  spreadOf(a.map((value, round) => value / (b[round] ?? NaN)));

/** Functions that run side by side. */
export type Side<V extends Variant = Variant> = Record<V, Running>;

/** Runs work with the same function of several variants, and stops them whatever happens. */
export async function withFunctions<V extends Variant, T>(
  variants: readonly V[],
  name: string,
  { address }: Database,
  work: (side: Side<V>) => Promise<T>,
): Promise<T> {
  const started = await Promise.all(variants.map((variant) => startFunction(variant, name, address)));
  try {
    return await work(Object.fromEntries(variants.map((variant, i) => [variant, started[i]])) as Side<V>);
  } finally {
    await Promise.all(started.map((running) => running.stop()));
  }
}

/** Measures every variant in each round, each round beginning with another; after one round that does not count. */
export async function interleaved<V extends Variant, T>(
  side: Side<V>,
  rounds: number,
  measure: (running: Running, variant: V) => Promise<T>,
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

/** Asks, and fails the bench on an answer that is not a success. */
export async function succeed(port: number, asked: Asked): Promise<Answered> {
  const answered = await ask(port, asked);
  if (answered.status !== 200)
    throw new Error(`a request of the bench was answered ${answered.status}: ${answered.tail}`);
  return answered;
}

export interface Peak {
  /** Megabytes above what the process had before. */
  peakMb: number;
  /** Calls to Firestore. */
  calls: number;
  answered: Answered;
}

/** The memory that one request takes, in a process that has only answered a small one before. */
export async function peakOf(
  variant: Variant,
  name: string,
  database: Database,
  small: Asked,
  asked: Asked,
): Promise<Peak> {
  return withFunctions([variant], name, database, async (side) => {
    const running = side[variant];
    await ask(running.port, small);
    await sleep(200);
    resetPeak(running.pid);
    const idle = memoryOf(running.pid).now;
    const before = await database.calls();
    const answered = await ask(running.port, asked);
    const { peak } = memoryOf(running.pid);
    return { peakMb: peak - idle, calls: (await database.calls()) - before, answered };
  });
}

/** What one request holds at most, in megabytes that no collection of garbage frees, looked at while it is under way. */
export async function liveOf(
  variant: Variant,
  name: string,
  { address }: Database,
  small: Asked,
  asked: Asked,
): Promise<number> {
  const running = await startFunction(variant, name, address, ['--expose-gc']);
  try {
    await succeed(running.port, small);
    const idle = await running.liveMb();
    const progress = { isAnswered: false };
    const answer = succeed(running.port, asked).finally(() => (progress.isAnswered = true));
    let most = idle;
    while (!progress.isAnswered) {
      most = Math.max(most, await running.liveMb());
      await sleep(100);
    }
    await answer;
    return most - idle;
  } finally {
    await running.stop();
  }
}
