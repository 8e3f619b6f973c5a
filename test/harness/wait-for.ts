import { setTimeout as delay } from 'node:timers/promises';
import type { InjectedFault } from '../../emulator/src';

/**
 * Waits until `find` returns something other than false and undefined, and returns that. Fails after 60 s, which is enough for a busy
 * machine.
 */
export async function waitFor<T>(find: () => T | false | undefined | Promise<T | false | undefined>): Promise<T> {
  for (let waited = 0; waited < 60_000; waited += 20) {
    const found = await find();
    if (found !== false && found !== undefined) return found;
    await delay(20);
  }
  throw new Error(`60 s are over: ${String(find)}`);
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
