import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { cases } from './cases';
import { sequence } from './generator';
import { connect } from './protocol';
import { RECORDING, writeRecording, type RecordedSequence } from './recording';
import { runSequence } from './sequence';

/*
 * Records what Google's emulator answers to the scripted cases and to random sequences:
 * npm run firestore -- record --google 127.0.0.1:8585 [--seed 1] [--sequences 4000] [--emulator 1.19.9] [--out FILE]
 */

/** How many sequences run at once. */
const WIDTH = 8;

const { values } = parseArgs({
  options: {
    google: { type: 'string', default: '127.0.0.1:8585' },
    seed: { type: 'string', default: '1' },
    sequences: { type: 'string', default: '4000' },
    emulator: { type: 'string' },
    out: { type: 'string', default: RECORDING },
  },
});

async function main(): Promise<void> {
  const seed = Number(values.seed);
  const emulator = values.emulator ?? findEmulatorVersion();
  const google = connect(values.google);
  const random = fc.sample(sequence, { seed, numRuns: Number(values.sequences) });
  const scripts = [...cases, ...random.map((operations) => ({ operations }))];
  const sequences: RecordedSequence[] = [];
  const queue = scripts.entries();
  const work = async (): Promise<void> => {
    for (const [index, script] of queue) {
      const database = `projects/c-${process.pid}-${Date.now()}-${index}/databases/(default)`;
      sequences[index] = { ...script, answers: await runSequence(google, database, script.operations) };
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  google.close();
  writeRecording(values.out, { emulator, seed, date: new Date().toISOString().slice(0, 10), sequences });
  const calls = scripts.reduce((sum, { operations }) => sum + operations.length, 0);
  console.log(
    `Recorded ${cases.length} scripted cases and ${random.length} random sequences of seed ${seed}, ${calls} calls, ` +
      `of Google's emulator ${emulator} in ${values.out}`,
  );
}

function findEmulatorVersion(): string {
  const versions: unknown = JSON.parse(execFileSync('gcloud', ['version', '--format=json'], { encoding: 'utf8' }));
  const version = (versions as Record<string, string>)['cloud-firestore-emulator'];
  if (version === undefined) throw new Error('gcloud has no Firestore emulator: name its version with --emulator.');
  return version;
}

void main();
