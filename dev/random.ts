/** Pseudorandom numbers. Equal seeds give equal numbers on every machine, because Lehmer's generator is exact in doubles. */
export interface Random {
  /** Returns a number from 0 to 1, both exclusive. */
  next: () => number;
  chance: (probability: number) => boolean;
  /** Returns a whole number from `min` to `max`, both inclusive. */
  int: (min: number, max: number) => number;
  pick: <T>(choices: readonly T[]) => T;
}

/** @param seed a whole number from 1 to 2,147,483,646 */
export function createRandom(seed: number): Random {
  let state = seed;
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  const pick = <T>(choices: readonly T[]): T => {
    const picked = choices[int(0, choices.length - 1)];
    if (picked === undefined) throw new Error('the list of choices is empty');
    return picked;
  };
  return { next, chance: (probability) => next() < probability, int, pick };
}

/** Returns a seed for {@link createRandom}. Close seeds give close first numbers, so this function spreads them. */
export const spreadSeed = (seed: number): number => 1 + Number((BigInt(seed) * 2_654_435_761n) % 2_147_483_646n);
