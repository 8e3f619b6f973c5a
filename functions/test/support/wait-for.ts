import { setTimeout as delay } from 'node:timers/promises';

/** Waits until the condition holds. Fails after 60 s, which is enough for a busy machine. */
export async function waitFor(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 60_000; waited += 20) await delay(20);
  expect(condition()).toBe(true);
}
