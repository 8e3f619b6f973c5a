import { createHash } from 'node:crypto';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore } from '../../../local/firestore';
import { useFirestoreEmulator } from '../support/firestore';
import { runSchedule } from './schedule';

const PROJECT = 'simulation';

/** What many schedules came to. */
export interface SimulationSummary {
  calls: number;
  answers: Map<string, number>;
  /** The same for the same schedules: a hash of all that happened. */
  digest: string;
}

/**
 * Runs schedules one after another, each against an empty embedded Firestore. Once to a process: its connection is kept.
 *
 * @throws Violation at the first in which something that must hold did not
 */
export async function simulate(
  first: number,
  schedules: number,
  progress: (done: number) => void = () => undefined,
): Promise<SimulationSummary> {
  const embedded = await startFirestore();
  useFirestoreEmulator(embedded.address, PROJECT);
  const db = new Firestore({ projectId: PROJECT });
  const answered = new Map<string, number>();
  const hash = createHash('sha256');
  let total = 0;
  try {
    for (let done = 0; done < schedules; done += 1) {
      progress(done);
      const { calls, answers, trace } = await runSchedule(first + done, db);
      embedded.clear();
      total += calls;
      for (const line of trace) hash.update(line);
      for (const [answer, count] of answers) answered.set(answer, (answered.get(answer) ?? 0) + count);
    }
  } finally {
    await db.terminate();
    await embedded.close();
  }
  return { calls: total, answers: answered, digest: hash.digest('hex') };
}
