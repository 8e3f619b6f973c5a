import { setTimeout as delay } from 'node:timers/promises';
import type { InjectedFault } from '../../emulator/src';

/** Waits until the condition holds. Fails after 60 s, which is enough for a busy machine. */
export async function waitFor(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 60_000; waited += 20) await delay(20);
  expect(condition()).toBe(true);
}

/** Waits until a fault applies. Fails if the work that should meet it ends first, or after 60 s. */
export async function waitUntilFired({ fired }: Pick<InjectedFault, 'fired'>, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  const outcome = await Promise.race([
    fired.then(() => 'fired'),
    work.then(
      () => 'the work ended before it met the fault',
      (error: unknown) => `the work failed before it met the fault: ${String(error)}`,
    ),
    delay(60_000, 'the work met no fault within 60 s', { signal: limit.signal, ref: false }),
  ]);
  limit.abort();
  expect(outcome).toBe('fired');
}
