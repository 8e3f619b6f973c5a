import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Waits for a turn of the event loop that no other caller gets. Call this function before a piece of work that can take seconds.
 * However many requests wait for a turn, the process reads what has arrived, and runs its timers, after each piece.
 * Otherwise the timeout of a call could fire while its response waits to be read.
 */
export function takeTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}
