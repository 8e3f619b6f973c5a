import { execFile } from 'node:child_process';
import { relative, resolve } from 'node:path';
import { promisify } from 'node:util';

/** `npm run test:watch` runs the tests that Jest relates to a changed file. */

jest.setTimeout(180_000);

async function findRelatedTests(file: string): Promise<string[]> {
  const args = ['node_modules/jest/bin/jest.js', '--listTests', '--findRelatedTests', file];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => relative(resolve('.'), line).replaceAll('\\', '/'));
}

test.concurrent.each([
  ['functions/src/get-teams.ts', 'functions/test/endpoints/get-teams.test.ts'],
  ['functions/src/lib/firestore/retry.ts', 'functions/test/modules/lib/firestore/retry.test.ts'],
  ['packages/firestore-local/src/locks.ts', 'packages/firestore-local/test/transactions.test.ts'],
  ['local/server/dev-server.ts', 'test/dev/dev.test.ts'],
  ['local/reference/index.ts', 'test/browser/browser.test.ts'],
])('%s: its tests are found, among them %s', async (file, expected) => {
  expect(await findRelatedTests(file)).toContain(expected);
});
