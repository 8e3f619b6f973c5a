import { readFileSync } from 'node:fs';
import { startFirestore, type EmbeddedFirestore } from '../../src';
import { cases } from './cases';
import type { Call } from './calls';
import { deviations } from './deviations';
import { connect, type Server } from './protocol';
import { runSequence, type Answer } from './sequence';

/**
 * The recorded answers of Google's emulator, by the titles of cases and deviations. After you add or change one, start the
 * emulator and run `npm run firestore -- --emulator VERSION`.
 */
const [, ...lines] = readFileSync(`${__dirname}/recording.jsonl`, 'utf8').trimEnd().split('\n');
const recorded = new Map(lines.map((line) => JSON.parse(line) as [string, Answer[]]));

let firestore: EmbeddedFirestore;
let server: Server;
beforeAll(async () => {
  // Commits are at least a millisecond apart, so no commit has the time `$time:0+1`, one microsecond after another commit.
  let last = 0;
  firestore = await startFirestore({ clock: () => (last = Math.max(Date.now(), last + 1)) });
  server = connect(firestore.address);
});
afterAll(async () => {
  server.close();
  await firestore.close();
});

let databases = 0;
const run = (calls: readonly Call[]): Promise<Answer[]> =>
  runSequence(server, `projects/c-${++databases}/databases/(default)`, calls);

test.each(cases)('$title: the answers equal those of Google’s emulator', async ({ title, calls }) => {
  expect(await run(calls)).toEqual(recorded.get(title));
});

test.each(deviations)('$title: the status differs from that of Google’s emulator', async ({ title, calls, code }) => {
  const [ours, google] = [await run(calls), recorded.get(title)];
  expect(ours.at(-1)?.code).toBe(code);
  expect(google?.at(-1)?.code ?? code).not.toBe(code);
});
