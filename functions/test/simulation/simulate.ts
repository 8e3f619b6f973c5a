import { createHash } from 'node:crypto';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore } from '../../../packages/firestore-local/src/internal';
import { skipSdkPauses, useFirestoreEmulator } from '../support/firestore';
import { BREAKS } from './breaks';
import { createMemoryChannel } from './memory-channel';
import { InvariantViolation, runSchedule } from './schedule';
import type { BrokenParts } from './world';

const PROJECT = 'simulation';
/** Unix milliseconds: the first version of a document. */
const STARTED_AT = Date.UTC(2026, 0, 1);

/** What many schedules came to. */
export interface SimulationSummary {
  calls: number;
  results: Map<string, number>;
  /** The same for the same schedules: a hash of all that happened. */
  digest: string;
}

/**
 * Runs schedules one after another, each against an empty embedded Firestore. Once to a loaded
 * bundle: the connection of the service is kept.
 *
 * @throws Violation at the first in which something that must hold did not
 */
export async function simulate(
  first: number,
  schedules: number,
  progress: (done: number) => void = () => undefined,
  broken?: BrokenParts,
): Promise<SimulationSummary> {
  // Errors name the versions of documents, which are times.
  const embedded = await startFirestore({ clock: () => STARTED_AT });
  useFirestoreEmulator(embedded.address, PROJECT);
  skipSdkPauses();
  const channel = { 'grpc.channelFactoryOverride': () => createMemoryChannel(embedded) };
  const db = new Firestore({ projectId: PROJECT, ...channel });
  const counted = new Map<string, number>();
  const hash = createHash('sha256');
  let total = 0;
  try {
    for (let done = 0; done < schedules; done += 1) {
      progress(done);
      const { calls, results, trace } = await runSchedule(first + done, db, embedded, broken);
      embedded.clear();
      total += calls;
      for (const line of trace) hash.update(line);
      for (const [result, count] of results) counted.set(result, (counted.get(result) ?? 0) + count);
    }
  } finally {
    await db.terminate();
    await embedded.close();
  }
  return { calls: total, results: counted, digest: hash.digest('hex') };
}

/**
 * Runs schedules and prints, with progress, what they came to, or the first violation and how to repeat it.
 *
 * @param breakName what of the service is broken, by its name in breaks.ts
 * @returns the exit code
 */
export async function reportSimulation(
  first: number,
  schedules: number,
  print: (text: string) => void,
  breakName?: string,
): Promise<number> {
  const broken = breakName === undefined ? undefined : BREAKS[breakName];
  if (breakName !== undefined && broken === undefined) throw new Error(`There is no break ${breakName}.`);
  const startedAt = performance.now();
  const getSeconds = () => Math.round((performance.now() - startedAt) / 1000);
  print(`${schedules} schedules from seed ${first}`);
  let printedAt = 0;
  try {
    const { calls, results, digest } = await simulate(
      first,
      schedules,
      (done) => {
        if (getSeconds() < printedAt + 5) return;
        printedAt = getSeconds();
        print(`${done} of ${schedules} in ${printedAt} s`);
      },
      broken,
    );
    const counted = [...results].sort(([a], [b]) => (a < b ? -1 : 1)).map(([result, count]) => `${result} ${count}`);
    print(
      `${schedules} schedules, ${calls} calls, in ${getSeconds()} s; results: ${counted.join(', ')}; digest ${digest.slice(0, 16)}`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof InvariantViolation)) throw error;
    print(error.trace.join('\n'));
    const which = breakName === undefined ? '' : ` --break '${breakName}'`;
    print(
      `\n${error.message}\nnpx tsx functions/test/simulation/run-simulation.ts --schedules 1 --seed ${error.seed}${which}`,
    );
    return 1;
  }
}
