import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { deviations } from './deviations';
import { PAGE, renderPage } from './page';
import { RECORDING, readRecording } from './recording';
import { describeDifference, replay } from './replay';

/*
 * npm run firestore -- compare [--recording FILE]
 *
 * Shows where the embedded Firestore answers otherwise than a recording and the list of differences
 * does not explain it, and the entries of the list that explain nothing. Of the recording of this
 * repository it writes conformance.md; with --check it says whether that page is up to date.
 */

const { recording: file, check } = parseArgs({
  options: { recording: { type: 'string' }, check: { type: 'boolean' } },
}).values;

async function main(): Promise<void> {
  const recording = readRecording(file ?? RECORDING);
  const differences = await replay(recording);
  const unlisted = differences.filter(({ deviation }) => deviation === undefined);
  for (const difference of unlisted) console.log(describeDifference(difference));
  const found = new Set(differences.map(({ deviation }) => deviation));
  const idle = deviations.filter((each) => !found.has(each));
  for (const { what } of idle) console.log(`No answer differs so any more: delete the entry “${what}”.`);
  const calls = recording.sequences.reduce((sum, { operations }) => sum + operations.length, 0);
  const isComplete = unlisted.length === 0 && idle.length === 0;
  const explained = `the list of differences explains the ${differences.length - unlisted.length} answers that differ`;
  if (isComplete) console.log(`Conformance holds: of ${calls} recorded calls, ${explained}.`);
  else console.log(`Conformance fails: see above. Correct the package or the list in deviations.ts.`);
  const page = renderPage(recording, differences);
  const isStale = check === true && readFileSync(PAGE, 'utf8') !== page;
  if (isStale) console.log(`${PAGE} is out of date: npm run generate`);
  if (file === undefined && !check) writeFileSync(PAGE, page);
  if (!isComplete || isStale) process.exitCode = 1;
}

void main();
