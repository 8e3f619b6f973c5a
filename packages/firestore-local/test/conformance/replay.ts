import { setImmediate } from 'node:timers/promises';
import { startFirestore } from '../../src/internal';
import { deviations, type Deviation } from './deviations';
import { connectInProcess } from './protocol';
import type { RecordedSequence } from './recording';
import { runSequence, type Answer, type Operation } from './sequence';

/** Two answers to one call that differ. */
export interface Difference {
  /** The title of its sequence, and its place there. */
  readonly title: string;
  readonly index: number;
  readonly operation: Operation;
  readonly google: Answer;
  readonly ours: Answer;
  /** The entry of the list that explains it, if there is one. */
  readonly deviation: Deviation | undefined;
}

/** How many sequences share a server. */
const SEQUENCES_A_SERVER = 50;
/** How many servers there are at once: a sequence that waits for a deadline does not hold up all others. */
const SERVERS = 2;

/** Runs every recorded sequence on an embedded Firestore and returns what differs. */
export async function replay(sequences: readonly RecordedSequence[]): Promise<Difference[]> {
  const differences: Difference[][] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < sequences.length) {
      const from = next;
      next += SEQUENCES_A_SERVER;
      // Commits are a millisecond apart, as over a connection: a time one microsecond after a commit is never that of another.
      let last = 0;
      const server = await startFirestore({ clock: () => (last = Math.max(Date.now(), last + 1)) });
      const transport = connectInProcess(server);
      const round = sequences.slice(from, next).map(async ({ title, operations, answers }, i) => {
        const database = `projects/c-replay-${from + i}/databases/(default)`;
        const ours = await runSequence(transport, database, operations);
        differences[from + i] = compareAnswers(title ?? `random sequence ${from + i}`, operations, answers, ours);
      });
      await Promise.all(round);
      await server.close();
      // Calls in this process wait for nothing, so deadlines pass only here.
      await setImmediate();
    }
  };
  await Promise.all(Array.from({ length: SERVERS }, work));
  return differences.flat();
}

/**
 * The differences of a sequence, up to the first call after which the two databases may differ themselves. A call that refers
 * to an answer that differs asks both servers for something else: it is not compared.
 */
function compareAnswers(
  title: string,
  operations: readonly Operation[],
  theirs: readonly Answer[],
  answers: readonly Answer[],
): Difference[] {
  const differences: Difference[] = [];
  const different = new Set<number>();
  for (const [index, operation] of operations.entries()) {
    const [google, ours] = [theirs[index], answers[index]];
    if (!google || !ours) continue;
    const refersToDifferent = refersTo(operation, different);
    if (!refersToDifferent && isSame(google, ours)) continue;
    different.add(index);
    const found = { operation, google, ours };
    const deviation = ours.code === INTERNAL ? undefined : deviations.find(({ matches }) => matches(found));
    if (!refersToDifferent) differences.push({ title, index, ...found, deviation });
    if (!isRead(operation)) break;
  }
  return differences;
}

/** Says that a server failed itself, which is never the right answer. */
const INTERNAL = 13;

/** Codes and results are compared strictly; texts are not compared. */
const isSame = (google: Answer, ours: Answer): boolean =>
  google.code === ours.code && ours.code !== INTERNAL && JSON.stringify(google.result) === JSON.stringify(ours.result);

/** Whether a call changes nothing, so that what follows is still comparable. */
const isRead = ({ rpc, request }: Operation): boolean =>
  /^BatchGet|^List|^Run/.test(rpc) && !('transaction' in request);

/** Whether a call takes a time, a token or a transaction from one of these answers. */
const refersTo = ({ request }: Operation, answers: ReadonlySet<number>): boolean =>
  answers.size > 0 &&
  [...JSON.stringify(request).matchAll(/"\$[a-z]+:(\d+)/g)].some(([, index]) => answers.has(Number(index)));

/** One difference for a person. */
export function describeDifference({ title, index, operation, google, ours }: Difference): string {
  const show = (answer: Answer): string => JSON.stringify(answer).slice(0, 1200);
  return [
    `${title}, call ${index}: ${operation.rpc} ${JSON.stringify(operation.request).slice(0, 1500)}`,
    `  Google's emulator: ${show(google)}`,
    `  embedded:          ${show(ours)}`,
  ].join('\n');
}
