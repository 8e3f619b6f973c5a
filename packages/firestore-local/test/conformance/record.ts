import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { cases } from './cases';
import { findEmulatorVersion } from './emulator';
import { sequence } from './generator';
import { forEachConcurrently, newDatabase } from './live';
import { connect } from './protocol';
import { RECORDING, writeRecording, type RecordedSequence } from './recording';
import { runSequence } from './sequence';

/*
 * Records what Google's emulator answers to the scripted cases and to random sequences:
 * npm run firestore -- record --google 127.0.0.1:8585 [--seed 1] [--sequences 5600] [--emulator 1.19.9] [--out FILE]
 */

const WIDTH = 8;

const { values } = parseArgs({
  options: {
    google: { type: 'string', default: '127.0.0.1:8585' },
    seed: { type: 'string', default: '1' },
    sequences: { type: 'string', default: '5600' },
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
  let calls = 0;
  await forEachConcurrently(scripts, WIDTH, async (script, index) => {
    sequences[index] = { ...script, answers: await runSequence(google, newDatabase(), script.operations) };
    const before = calls;
    calls += script.operations.length;
    if (Math.floor(before / 10_000) < Math.floor(calls / 10_000)) console.log(`${calls} calls`);
  });
  await google.close();
  writeRecording(values.out, { emulator, seed, date: new Date().toISOString().slice(0, 10), sequences });
  console.log(
    `Recorded ${cases.length} scripted cases and ${random.length} random sequences of seed ${seed}, ${calls} calls, ` +
      `of Google's emulator ${emulator} in ${values.out}`,
  );
}

void main();
