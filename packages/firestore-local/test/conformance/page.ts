import { deviations, type Verdict } from './deviations';
import type { Recording } from './recording';
import type { ReplayedDifference } from './replay';
import systemTests from './system-tests.json';

/** Where the page is. */
export const PAGE = 'packages/firestore-local/conformance.md';

const VERDICTS: readonly { readonly verdict: Verdict; readonly heading: string }[] = [
  { verdict: 'the embedded one is right', heading: 'Production documents the embedded answer' },
  { verdict: 'undocumented', heading: 'Production documents neither' },
  { verdict: 'not served', heading: 'Not served' },
];

const format = (count: number): string => count.toLocaleString('en-US');

const toTable = (header: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

/** The page of what agrees and what differs, from a recording and its replay. */
export function renderPage(
  { emulator, seed, date, sequences }: Recording,
  differences: readonly ReplayedDifference[],
): string {
  const scripted = sequences.filter(({ title }) => title !== undefined).length;
  const calls = sequences.reduce((sum, { operations }) => sum + operations.length, 0);
  const sections = VERDICTS.flatMap(({ verdict, heading }) => {
    const entries = deviations.filter((each) => each.verdict === verdict);
    if (entries.length === 0) return [];
    const rows = entries.map((entry) => [
      entry.what,
      entry.google,
      entry.embedded,
      `${entry.production} ([source](${entry.source}))`,
      format(differences.filter(({ deviation }) => deviation === entry).length),
    ]);
    return [
      `### ${heading}`,
      toTable(['What', 'Google’s emulator', 'Embedded', 'Production documents', 'Calls'], rows),
    ];
  });
  return (
    [
      '# Conformance',
      'How the embedded Firestore answers where Google’s emulator was asked the same. Written by `npm run generate`.',
      '## The judge',
      `Google’s emulator ${emulator} answered ${format(scripted)} scripted cases and ${format(sequences.length - scripted)} random ` +
        `sequences of seed ${seed}, ${format(calls)} calls, on ${date}. \`npm test\` replays them on the embedded one. Codes and ` +
        'results are compared strictly, with generated ids and times by where they first appear; of a text, only what the SDK ' +
        `reads in it. ${format(differences.length)} answers differ, each for a reason on the list below. Calls after a write that ` +
        'differs are not compared in that sequence.',
      'The recording holds requests beside answers. It stays valid when the generator changes.',
      [
        '1. Start Google’s emulator: `gcloud emulators firestore start --host-port=127.0.0.1:8585`.',
        '2. Record: `npm run firestore -- record --google 127.0.0.1:8585 --seed 1`.',
        '3. Compare both live, on new sequences: `npm run firestore -- compare --google 127.0.0.1:8585 --sequences 1000`. What ' +
          'differs is shrunk and shown.',
        '4. Write this page: `npm run generate`.',
      ].join('\n'),
      '## Differences',
      ...sections,
      '## The SDK’s own system tests',
      `${systemTests.source}, over both servers.`,
      toTable(
        ['Category', 'Tests', 'Skipped by the suite', 'Embedded passes', 'Google’s emulator passes'],
        systemTests.categories.map(({ name, tests, skipped, embedded, google }) => [
          name,
          tests,
          skipped,
          embedded,
          google,
        ]),
      ),
      systemTests.note,
    ].join('\n\n') + '\n'
  );
}
