import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { status } from '@grpc/grpc-js';
import { cases } from './cases';
import { deviations } from './deviations';
import { connect } from './protocol';
import { runSequence, type Answer } from './sequence';

const USAGE = `Usage: npm run firestore -- [options]

Records the answers of Google's emulator. npm test compares the embedded Firestore's answers with this recording.

  --google HOST:PORT   where the emulator listens (default 127.0.0.1:8585)
  --emulator VERSION   the emulator's version, to store in the recording`;

const RECORDING = 'emulator/test/conformance/recording.jsonl';

/** Reports an error. The recording then stays as it was. */
function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

/** How many sequences run at once. */
const WIDTH = 8;

async function record(address: string, emulator: string): Promise<void> {
  const google = connect(address);
  const answers: [string, Answer[]][] = [];
  const queue = [...cases, ...deviations].entries();
  const work = async (): Promise<void> => {
    for (const [i, { title, calls }] of queue) {
      const database = `projects/c-${Date.now()}-${i}/databases/(default)`;
      answers[i] = [title, await runSequence(google, database, calls)];
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  google.close();
  const unavailable: number = status.UNAVAILABLE;
  if (answers.some(([, each]) => each.some(({ code }) => code === unavailable)))
    throw new Error(`Google's emulator does not respond at ${address}. Start it, or set --google to its address.`);
  const lines = [{ emulator, date: new Date().toISOString().slice(0, 10) }, ...answers];
  writeFileSync(RECORDING, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  console.log(`Recorded ${answers.length} sequences of Google's emulator ${emulator} in ${RECORDING}`);
}

try {
  const { values } = parseArgs({
    options: {
      google: { type: 'string', default: '127.0.0.1:8585' },
      emulator: { type: 'string', default: 'of an unknown version' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) console.log(USAGE);
  else record(values.google, values.emulator).catch(fail);
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 64;
}
