import { readFileSync } from 'node:fs';
import { describeDifference } from './compare-answers';
import { deviations } from './deviations';
import { readRecording, type Recording } from './recording';
import { replay, type ReplayedDifference } from './replay';
import { PAGE, renderPage } from './page';

let recording: Recording;
let differences: ReplayedDifference[];

beforeAll(async () => {
  recording = readRecording();
  differences = await replay(recording);
});

test('the recording holds 5,000 random sequences and 80,000 calls at least', () => {
  const { sequences } = recording;
  expect(sequences.filter(({ title }) => title === undefined).length).toBeGreaterThanOrEqual(5000);
  expect(sequences.flatMap(({ operations }) => operations).length).toBeGreaterThanOrEqual(80_000);
});

test('every answer is that of Google’s emulator, or the difference is on the list', () => {
  const unlisted = differences.filter(({ deviation }) => deviation === undefined);
  expect(unlisted.slice(0, 20).map((each) => `${each.title}\n${describeDifference(each)}`)).toEqual([]);
});

test('every entry of the list still differs: one that does not is to be deleted', () => {
  const found = new Set(differences.map(({ deviation }) => deviation));
  expect(deviations.filter((each) => !found.has(each)).map(({ id }) => id)).toEqual([]);
});

test('conformance.md is up to date: npm run generate', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(renderPage(recording, differences));
});
