import { findDeviation, type Deviation } from './deviations';
import type { Answer, Operation } from './sequence';

/** Two answers to one call that differ. */
export interface Difference {
  /** The place of the call in its sequence. */
  readonly index: number;
  readonly operation: Operation;
  readonly google: Answer;
  readonly ours: Answer;
  /** The entry of the list that explains it, if there is one. */
  readonly deviation: Deviation | undefined;
}

/** The operations that change nothing: what follows a difference in one of them is still comparable. */
const READS = new Set([
  'GetDocument',
  'BatchGetDocuments',
  'ListDocuments',
  'ListCollectionIds',
  'RunQuery',
  'RunAggregationQuery',
]);

/** The text by which the SDK recognizes a transaction that has ended. */
const TRANSACTION_ENDED = 'transaction has expired';

/** Codes and results are compared strictly; of a text, only what the SDK reads in it. */
function isSame(google: Answer, ours: Answer): boolean {
  const [left, right] = [google.message ?? '', ours.message ?? ''];
  return (
    google.code === ours.code &&
    JSON.stringify(google.result) === JSON.stringify(ours.result) &&
    left.includes(TRANSACTION_ENDED) === right.includes(TRANSACTION_ENDED)
  );
}

/** Whether the server chose the id of a document, and with it the place of the document in every later order. */
const isIdChosen = ({ rpc, request }: Operation, { code }: Answer): boolean =>
  rpc === 'CreateDocument' && !request['documentId'] && code === 0;

/** Whether a call takes a time, a token or a transaction from one of these answers. */
const refersTo = ({ request }: Operation, answers: ReadonlySet<number>): boolean =>
  answers.size > 0 &&
  [...JSON.stringify(request).matchAll(/"\$[a-z]+:(\d+)/g)].some(([, index]) => answers.has(Number(index)));

/**
 * The differences of a sequence, up to the first call after which the two databases may differ themselves. A call that refers
 * to an answer that differs asks both servers for something else: it is not compared.
 */
export function compareAnswers(
  operations: readonly Operation[],
  google: readonly Answer[],
  ours: readonly Answer[],
): Difference[] {
  const differences: Difference[] = [];
  const different = new Set<number>();
  for (const [index, operation] of operations.entries()) {
    const [left, right] = [google[index], ours[index]];
    if (!left || !right) continue;
    const isRead = READS.has(operation.rpc) && !('transaction' in operation.request);
    if (refersTo(operation, different)) {
      if (!isRead) break;
      different.add(index);
      continue;
    }
    if (isSame(left, right)) {
      if (isIdChosen(operation, left)) break;
      continue;
    }
    const found = { index, operation, google: left, ours: right };
    differences.push({ ...found, deviation: findDeviation(found) });
    if (!isRead) break;
    different.add(index);
  }
  return differences;
}

/** One difference for a person. */
export function describeDifference({ index, operation, google, ours }: Difference): string {
  const show = (answer: Answer): string => JSON.stringify(answer).slice(0, 1200);
  return [
    `call ${index}: ${operation.rpc} ${JSON.stringify(operation.request).slice(0, 1500)}`,
    `  Google's emulator: ${show(google)}`,
    `  embedded:          ${show(ours)}`,
  ].join('\n');
}
