import { readFileSync } from 'node:fs';
import { deviations } from './deviations';
import { RECORDING, readRecording, type Recording } from './recording';
import { describeDifference, replay, type Difference } from './replay';
import { PAGE, renderPage } from './page';

let recording: Recording;
let differences: Difference[];

beforeAll(async () => {
  recording = readRecording(RECORDING);
  differences = await replay(recording);
});

test('the recording holds 437 scripted cases, 5,000 random sequences and 80,000 calls at least', () => {
  const { sequences } = recording;
  const scripted = sequences.filter(({ title }) => title !== undefined);
  expect(scripted.length).toBeGreaterThanOrEqual(437);
  expect(sequences.length - scripted.length).toBeGreaterThanOrEqual(5000);
  expect(sequences.flatMap(({ operations }) => operations).length).toBeGreaterThanOrEqual(80_000);
});

test('every answer is that of Google’s emulator, or the difference is on the list', () => {
  const unlisted = differences.filter(({ deviation }) => deviation === undefined);
  expect(unlisted.slice(0, 20).map(describeDifference)).toEqual([]);
});

test('every entry of the list still differs: one that does not is to be deleted', () => {
  const found = new Set(differences.map(({ deviation }) => deviation));
  expect(deviations.filter((each) => !found.has(each)).map(({ what }) => what)).toEqual([]);
});

test('conformance.md is up to date: npm run generate', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(renderPage(recording, differences));
});
