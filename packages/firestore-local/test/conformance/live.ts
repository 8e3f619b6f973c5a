import { startFirestore, type InternalFirestore } from '../../src/internal';
import { compareAnswers, type Difference } from './compare-answers';
import type { Transport } from './protocol';
import { runSequence, type Operation } from './sequence';

/**
 * Starts an embedded Firestore whose commits are a millisecond apart, as if they came over a connection. A sequence may name a
 * time one microsecond after a commit: it is never that of another commit.
 */
export function startEmbedded(): Promise<InternalFirestore> {
  let last = 0;
  return startFirestore({ clock: () => (last = Math.max(Date.now(), last + 1)) });
}

let databases = 0;

/** A database name that neither server has seen. */
export const newDatabase = (): string => `projects/c-${process.pid}-${Date.now()}-${++databases}/databases/(default)`;

/** Runs a sequence on both servers. */
export async function compareLive(
  google: Transport,
  embedded: Transport,
  operations: readonly Operation[],
): Promise<Difference[]> {
  const database = newDatabase();
  const [left, right] = await Promise.all(
    [google, embedded].map((transport) => runSequence(transport, database, operations)),
  );
  return compareAnswers(operations, left ?? [], right ?? []);
}

/** Runs work on every item, a few at a time. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  width: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
