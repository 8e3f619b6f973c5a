import { writeFileSync } from 'node:fs';
import { PAGE, renderPage } from './page';
import { readRecording } from './recording';
import { replay } from './replay';

/* Writes conformance.md from the recording and the list of differences: npm run generate */

async function main(): Promise<void> {
  const recording = readRecording();
  writeFileSync(PAGE, renderPage(recording, await replay(recording)));
}

void main();
