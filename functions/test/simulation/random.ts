/** Generates pseudorandom numbers. Equal seeds give equal numbers. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // Without this, seeds that are close to each other give similar first numbers.
    for (let i = 0; i < 8; i += 1) this.next();
  }

  /** Returns a uniform number in [0, 1), by Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  chance = (probability: number): boolean => this.next() < probability;

  /** Returns an integer from `least` to `most`, both inclusive. */
  integer = (least: number, most: number): number => least + Math.floor(this.next() * (most - least + 1));

  pick = <T>(values: readonly T[]): T => {
    const picked = values[Math.floor(this.next() * values.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  };
}
