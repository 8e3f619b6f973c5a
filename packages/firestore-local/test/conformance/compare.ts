import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PAGE, renderPage } from './page';
import { RECORDING, readRecording } from './recording';
import { describeDifference, replay } from './replay';

/*
 * npm run firestore -- compare [--recording FILE]
 *
 * Shows what the embedded Firestore answers otherwise than a recording, and the list of differences does not explain. Writes
 * conformance.md where the recording is that of this repository, as `npm run generate` has it.
 */

async function main(): Promise<void> {
  const { recording: file } = parseArgs({ options: { recording: { type: 'string' } } }).values;
  const recording = readRecording(file ?? RECORDING);
  const differences = await replay(recording);
  const unlisted = differences.filter(({ deviation }) => deviation === undefined);
  for (const difference of unlisted) console.log(describeDifference(difference));
  const calls = recording.sequences.reduce((sum, { operations }) => sum + operations.length, 0);
  console.log(`${calls} calls: ${differences.length} differences, ${unlisted.length} of them not on the list`);
  if (file === undefined) writeFileSync(PAGE, renderPage(recording, differences));
  if (unlisted.length > 0) process.exitCode = 1;
}

void main();
