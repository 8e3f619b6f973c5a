import { setImmediate } from 'node:timers/promises';
import { compareAnswers, type Difference } from './compare-answers';
import { forEachConcurrently, startEmbedded } from './live';
import { connectInProcess } from './protocol';
import type { Recording } from './recording';
import { runSequence } from './sequence';

/** A difference with the sequence that it was found in. */
export type ReplayedDifference = Difference & { readonly title: string };

/** How many sequences share a server. */
const SEQUENCES_A_SERVER = 50;

/** How many servers there are at once: a sequence that waits for a deadline does not hold up all others. */
const SERVERS = 2;

/** Runs every recorded sequence on an embedded Firestore and returns what differs. */
export async function replay({ sequences }: Recording): Promise<ReplayedDifference[]> {
  const starts = Array.from(
    { length: Math.ceil(sequences.length / SEQUENCES_A_SERVER) },
    (_, i) => i * SEQUENCES_A_SERVER,
  );
  const differences: ReplayedDifference[][] = [];
  await forEachConcurrently(starts, SERVERS, async (from) => {
    const server = await startEmbedded();
    const transport = connectInProcess(server);
    const round = sequences.slice(from, from + SEQUENCES_A_SERVER);
    await Promise.all(
      round.map(async ({ title, operations, answers }, i) => {
        const ours = await runSequence(transport, `projects/c-replay-${from + i}/databases/(default)`, operations);
        differences[from + i] = compareAnswers(operations, answers, ours).map((each) => ({
          ...each,
          title: title ?? `random sequence ${from + i}`,
        }));
      }),
    );
    await server.close();
    // Calls in this process wait for nothing, so deadlines pass only here.
    await setImmediate();
  });
  return differences.flat();
}
