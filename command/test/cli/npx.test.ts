import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { runProgramSync } from '../../../dev/run/programs';
import { getProgram } from '../../cli/text';

/**
 * Tests that npm passes each option on to the command. Without the `--` that the pages show, npm treats options before the
 * next word as its own: `npx --no price-lists --dry-run sweep` would write.
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

const OPTIONS = ['--project=demo-other', '--dry-run', '--help', '--version'];
const ARGUMENTS = OPTIONS.flatMap((option) => [
  [option, 'sweep'],
  ['sweep', option],
]);

function run(program: string, args: readonly string[]) {
  // Nothing listens at this address, so no command writes.
  const env = { ...SETTINGS, FIRESTORE_EMULATOR_HOST: '127.0.0.1:1' };
  const { status, stdout, stderr } = runProgramSync(program, args, { env });
  return { status, stdout, stderr };
}

test.each(ARGUMENTS)(
  'npx starts the command with %s %s as Node does',
  (...args) => {
    const [, ...prefix] = getProgram('').split(' ');
    const expected = run(process.execPath, ['command/bin/price-lists.mjs', ...args]);
    for (const program of PROGRAMS) expect(run(program, [...prefix, ...args])).toEqual(expected);
  },
  60_000,
);
