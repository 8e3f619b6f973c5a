import { dirname } from 'node:path';
import { scripts } from '../../package.json';
import { runProgramSync } from '../support/programs';

/** Every program of this repository behind an npm script has help, and refuses what it does not know. */

// npm's own step, and programs of other packages.
const { postinstall: _, format: __, test: ___, 'test:fast': ____, ...ours } = scripts;

// The build before a program takes no arguments.
const programs = Object.entries(ours).map(([name, script]) => [name, script.replace('npm run --silent build && ', '')]);

function run(command: string) {
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`, DATA_DIR: ':memory:' };
  return runProgramSync('sh', ['-c', command], { env });
}

test.each(programs)('npm run %s -- --help prints its usage, and does nothing', (name, program = '') => {
  const { status, stdout, stderr } = run(`${program} --help`);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(
    name === 'price-lists' ? /^Usage: npx price-lists / : new RegExp(`^Usage: npm (run )?${name}\\b`),
  );
});

test.each(programs)(
  'npm run %s refuses an option that it does not have, and shows those that it has',
  (name, program = '') => {
    const verb = name === 'firestore' ? ' compare' : '';
    const { status, stdout, stderr } = run(`${program}${verb} --prot 1`);
    expect([status, stdout]).toEqual([name === 'price-lists' ? 2 : 64, '']);
    expect(stderr).toContain('--prot');
    expect(stderr).toContain(name === 'price-lists' ? '--help' : 'Usage: npm ');
  },
);
