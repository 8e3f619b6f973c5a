import { deviations, type Verdict } from './deviations';
import type { Recording } from './recording';
import type { Difference } from './replay';

/** Where the page is. */
export const PAGE = 'packages/firestore-local/conformance.md';

const HEADINGS: Readonly<Record<Verdict, string>> = {
  'the embedded one is right': 'Production documents the embedded answer',
  undocumented: 'Production documents neither',
};

const format = (count: number): string => count.toLocaleString('en-US');

/** The page of what agrees and what differs, from a recording and its replay. */
export function renderPage({ emulator, seed, date, sequences }: Recording, differences: readonly Difference[]): string {
  const scripted = sequences.filter(({ title }) => title !== undefined).length;
  const calls = sequences.reduce((sum, { operations }) => sum + operations.length, 0);
  const sections = Object.entries(HEADINGS).map(([verdict, heading]) => {
    const rows = deviations
      .filter((each) => each.verdict === verdict)
      .map((entry) => {
        const count = differences.filter(({ deviation }) => deviation === entry).length;
        const production = `${entry.production} ([source](${entry.source}))`;
        return `| ${[entry.what, entry.google, entry.embedded, production, format(count)].join(' | ')} |`;
      });
    const header =
      '| What | Google’s emulator | Embedded | Production documents | Calls |\n| --- | --- | --- | --- | --- |';
    return [`### ${heading}`, [header, ...rows].join('\n')].join('\n\n');
  });
  return `# Conformance

How the embedded Firestore answers where Google’s emulator was asked the same. Written by \`npm run generate\`.

## The judge

Google’s emulator ${emulator} answered ${format(scripted)} scripted cases and ${format(sequences.length - scripted)} random sequences of seed ${seed}, ${format(calls)} calls, on ${date}. \`npm test\` replays them on the embedded one. Codes and results are compared strictly, with times by where they first appear; texts are not compared. ${format(differences.length)} answers differ, each for a reason on the list below. Calls after a write that differs are not compared in that sequence.

The recording holds requests beside answers. It stays valid when the generator changes.

1. Start Google’s emulator: \`gcloud emulators firestore start --host-port=127.0.0.1:8585\`.
2. Record: \`npm run firestore -- record --google 127.0.0.1:8585 --seed 1\`.
3. Write this page: \`npm run generate\`.

To compare new sequences, record another seed with \`--seed 7 --out FILE\`, then show what differs with \`npm run firestore -- compare --recording FILE\`.

## Differences

${sections.join('\n\n')}
`;
}
