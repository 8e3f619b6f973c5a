import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { parseArgs } from 'node:util';
import zlib from 'node:zlib';
import { Firestore } from 'firebase-admin/firestore';
import { configureClient } from '../../src/lib/firestore/database';
import { startFirestore } from '../../../packages/firestore-local/src';
import { useFirestoreEmulator } from '../support/firestore';
import { BREAKS } from './breaks';
import { InvariantViolation, runSchedule } from './schedule';

/**
 * The program that run-simulation.ts starts: runs schedules one after another, each against an
 * empty embedded Firestore, and prints with progress what they came to, or the first violation and
 * how to repeat it.
 */

const PROJECT = 'simulation';
/** Unix milliseconds: the version of each document. Errors name the versions. */
const STARTED_AT = Date.UTC(2026, 0, 1);

const print = (text: string) => process.stdout.write(`${text}\n`);

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    // What of the service is broken, by its names in breaks.ts: the schedules are run with one
    // after another.
    break: { type: 'string', multiple: true },
  },
});

/** A stream that converts all that it is given, in this thread. */
const createConverter = (convert: (bytes: Buffer) => Buffer) => () => {
  const chunks: Buffer[] = [];
  return new Transform({
    transform: (chunk: Buffer, _, callback) => {
      chunks.push(chunk);
      callback();
    },
    flush: (callback) => {
      try {
        callback(null, convert(Buffer.concat(chunks)));
      } catch (error) {
        callback(error as Error);
      }
    },
  });
};

// Zlib works in other threads: how long they take must not decide which process is at its gate first.
Object.defineProperties(zlib, {
  createGzip: { value: createConverter(zlib.gzipSync) },
  createGunzip: { value: createConverter(zlib.gunzipSync) },
});

async function main(): Promise<void> {
  const embedded = await startFirestore({ clock: () => STARTED_AT });
  useFirestoreEmulator(embedded.address, PROJECT);
  const db = configureClient(new Firestore({ projectId: PROJECT }));
  const first = Number(values.seed);
  const count = Number(values.schedules);

  /** @throws InvariantViolation at the first in which something that must hold did not */
  async function runSchedules(breakName?: string): Promise<string> {
    const broken = breakName === undefined ? undefined : BREAKS[breakName];
    if (breakName !== undefined && broken === undefined) {
      throw new Error(`There is no break ${breakName}.`);
    }
    const startedAt = performance.now();
    const getSeconds = () => Math.round((performance.now() - startedAt) / 1000);
    let printedAt = 0;
    let total = 0;
    const counted = new Map<string, number>();
    // The same for the same schedules: of all that happened.
    const hash = createHash('sha256');
    for (let done = 0; done < count; done += 1) {
      if (getSeconds() >= printedAt + 5) {
        printedAt = getSeconds();
        print(`${done} of ${count} in ${printedAt} s`);
      }
      embedded.clear();
      const { calls, results, trace } = await runSchedule(first + done, db, embedded, broken);
      total += calls;
      for (const line of trace) hash.update(line);
      for (const [result, times] of results) {
        counted.set(result, (counted.get(result) ?? 0) + times);
      }
    }
    const results = [...counted].map(([result, times]) => `${result} ${times}`).sort();
    const digest = hash.digest('hex').slice(0, 16);
    return `${total} calls, in ${getSeconds()} s; results: ${results.join(', ')}; digest ${digest}`;
  }

  for (const breakName of values.break ?? [undefined]) {
    print(`${count} schedules from seed ${first}${breakName === undefined ? '' : ` with ${breakName}`}`);
    try {
      print(await runSchedules(breakName));
    } catch (error) {
      if (!(error instanceof InvariantViolation)) throw error;
      process.exitCode = 1;
      print(error.trace.join('\n'));
      const which = breakName === undefined ? '' : ` --break '${breakName}'`;
      const command = 'npx tsx functions/test/simulation/run-simulation.ts';
      print(`\n${error.message}\n${command} --schedules 1 --seed ${error.seed}${which}`);
    }
  }
  await db.terminate();
  await embedded.close();
}

void main();
