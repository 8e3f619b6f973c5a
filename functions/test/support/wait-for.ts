import { setTimeout as delay } from 'node:timers/promises';

/** Waits until the condition holds. Fails after 5 s. */
export async function waitFor(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 5_000; waited += 20) await delay(20);
  expect(condition()).toBe(true);
}
