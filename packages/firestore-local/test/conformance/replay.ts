import { startFirestore } from '../../src';
import { compareAnswers, type Difference } from './compare-answers';
import { connectInProcess } from './protocol';
import type { Recording } from './recording';
import { runSequence } from './sequence';

/** A difference with the sequence that it was found in. */
export type ReplayedDifference = Difference & { readonly title: string };

/** How many sequences share a server before it is emptied. */
const SEQUENCES_A_ROUND = 50;

/** Runs every recorded sequence on an embedded Firestore and returns what differs. */
export async function replay({ sequences }: Recording): Promise<ReplayedDifference[]> {
  const server = await startFirestore();
  const transport = connectInProcess(server);
  const differences: ReplayedDifference[] = [];
  for (let from = 0; from < sequences.length; from += SEQUENCES_A_ROUND) {
    const round = sequences.slice(from, from + SEQUENCES_A_ROUND).map(async ({ title, operations, answers }, i) => {
      const ours = await runSequence(transport, `projects/c-replay-${from + i}/databases/(default)`, operations);
      for (const difference of compareAnswers(operations, answers, ours)) {
        differences.push({ ...difference, title: title ?? `random sequence ${from + i}` });
      }
    });
    await Promise.all(round);
    server.clear();
  }
  await server.close();
  return differences;
}
