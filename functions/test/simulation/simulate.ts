import { Firestore } from 'firebase-admin/firestore';
import { startFirestore } from '../../../local/firestore';
import { runSchedule, type Outcome } from './schedule';

/**
 * Runs schedules one after another, each against an empty embedded Firestore.
 *
 * @throws Violation at the first in which something that must hold did not
 */
export async function simulate(
  first: number,
  schedules: number,
  progress: (done: number) => void = () => undefined,
): Promise<Outcome> {
  const embedded = await startFirestore();
  // The library need not ask around for credentials that nobody asks for.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  const db = new Firestore({ projectId: 'simulation', host: embedded.address, ssl: false });
  const total: Outcome = { calls: 0, answers: new Map() };
  try {
    for (let done = 0; done < schedules; done += 1) {
      progress(done);
      const { calls, answers } = await runSchedule(first + done, db);
      embedded.clear();
      total.calls += calls;
      for (const [answer, count] of answers) total.answers.set(answer, (total.answers.get(answer) ?? 0) + count);
    }
  } finally {
    await db.terminate();
    await embedded.close();
  }
  return total;
}
