import { parseArgs } from 'node:util';
import { deviations } from './deviations';
import { RECORDING, readRecording } from './recording';
import { describeDifference, replay } from './replay';

/*
 * npm run firestore -- compare [--recording FILE]
 *
 * Shows where the embedded Firestore answers otherwise than a recording and the list of deviations.ts
 * does not explain it, and the entries of the list that explain nothing.
 */

const { recording: file = RECORDING } = parseArgs({ options: { recording: { type: 'string' } } }).values;

async function main(): Promise<void> {
  const { emulator, sequences } = readRecording(file);
  const differences = await replay(sequences);
  const unlisted = differences.filter(({ deviation }) => deviation === undefined);
  for (const difference of unlisted) console.log(describeDifference(difference));
  const found = new Set(differences.map(({ deviation }) => deviation));
  const idle = deviations.filter((each) => !found.has(each));
  for (const { what } of idle) console.log(`No answer differs so any more: delete the entry “${what}”.`);
  const calls = sequences.reduce((sum, { operations }) => sum + operations.length, 0);
  const explained = `the list explains the ${differences.length - unlisted.length} answers that differ`;
  if (unlisted.length + idle.length === 0) {
    console.log(`Conformance holds: of ${calls} calls to Google's emulator ${emulator}, ${explained}.`);
  } else {
    console.log('Conformance fails: see above. Correct the package or the list in deviations.ts.');
    process.exitCode = 1;
  }
}

void main();
