import { setTimeout as delay } from 'node:timers/promises';

/** Waits until something has come to be, for five seconds at most; fails if it has not. */
export async function waitFor(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 5_000; waited += 20) await delay(20);
  expect(condition()).toBe(true);
}
