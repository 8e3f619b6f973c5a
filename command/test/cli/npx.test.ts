import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { runProgram } from '../../../dev/run/programs';
import { startFirestore, type EmbeddedFirestore } from '../../../emulator/src';
import { getProgram } from '../../cli/text';

/**
 * Tests that npm passes options on to the command. Without the `--` that the pages show, npm treats options between
 * `price-lists` and the next word as its own: `npx --no price-lists --dry-run sweep` would write.
 */

/** The machine's npm, and npm 10 where .ci/run has installed it. */
const NPM_10 = resolve('.github/npm-10/node_modules/.bin/npx');
const PROGRAMS = ['npx', ...(existsSync(NPM_10) ? [NPM_10] : [])];

/** Settings of npm that an operator can have. npm would also derive them from options that it treats as its own. */
const SETTINGS = {
  npm_config_dry_run: 'true',
  npm_config_project: 'demo-npm',
  npm_config_yes: 'true',
  npm_config_loglevel: 'error',
};

/** Without `--`, npm would take the options before the word `sweep` as its own. */
const ARGUMENTS = ['--project=demo-other sweep --dry-run', '--help sweep'];

let firestore: EmbeddedFirestore;
beforeAll(async () => {
  firestore = await startFirestore();
});
afterAll(() => firestore.close());

const run = (program: string, args: readonly string[]) =>
  runProgram(program, args, { env: { ...SETTINGS, FIRESTORE_EMULATOR_HOST: firestore.address } });

test.each(ARGUMENTS)('npx starts the command with %s as Node does', async (line) => {
  const args = line.split(' ');
  const [, ...prefix] = getProgram('').split(' ');
  const expected = await run(process.execPath, ['command/bin/price-lists.mjs', ...args]);
  for (const program of PROGRAMS) expect(await run(program, [...prefix, ...args])).toEqual(expected);
});
