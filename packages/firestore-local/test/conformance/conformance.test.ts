import { spawnSync } from 'node:child_process';

const COMPARE = 'packages/firestore-local/test/conformance/compare.ts';

/** In a process of its own: under Jest the replay takes twice as long. */
test('every answer is that of Google’s emulator, or on the list of deviations.ts', () => {
  const args = ['--import', 'tsx', COMPARE];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: {} });
  expect(stdout + stderr).toMatch(
    /^Conformance holds: of \d+ calls to Google's emulator \S+, the list explains the \d+ answers that differ\.\n$/,
  );
  expect(status).toBe(0);
});
