import { dirname } from 'node:path';
import { scripts } from '../../package.json';
import { runProgramSync } from '../run/programs';

/**
 * Tests that the programs behind npm scripts show their usage and refuse unknown options. command/test/cli covers the operator's
 * command.
 */

// Leaves out the steps of npm itself, and programs of other packages.
const { postinstall, prepare, format, test: suites, 'test:fast': fast, ...ours } = scripts;

/** Runs the program of an npm script, without building first. */
function run(name: keyof typeof ours, args: string) {
  const program = ours[name].replace('npm run --silent build && ', '');
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`, DATA_DIR: ':memory:' };
  return runProgramSync('sh', ['-c', `${program} ${args}`], { env });
}

// `verify` stands for all programs that use dev/program.mjs. `firestore` reads its arguments itself.
test.each(['verify', 'firestore'] as const)('npm run %s -- --help prints the usage and exits with 0', (name) => {
  const { status, stdout, stderr } = run(name, '--help');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} `));
});

test.each(Object.keys(ours) as (keyof typeof ours)[])(
  'npm run %s refuses an unknown option and prints its usage',
  (name) => {
    const { status, stdout, stderr } = run(name, '--prot 1');
    expect([status, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(new RegExp(`--prot[^]*\\nUsage: npm (run )?${name}\\b`));
  },
);
