import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgramSync } from '../support/programs';

/** What a person reads who runs an npm script in a checkout that is not installed, or on the wrong Node. */

const OWN_PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
const OTHER_MAJOR = '99';

let checkout: string;

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'checkout-'));
  cpSync('scripts/preflight.mjs', join(checkout, 'scripts/preflight.mjs'), { recursive: true });
  writeFileSync(join(checkout, 'program.mjs'), 'console.log("runs");');
  describeCheckout(process.versions.node, [OWN_PACKAGE]);
  install([OWN_PACKAGE]);
});

afterEach(() => rmSync(checkout, { recursive: true }));

function describeCheckout(version: string, packages: string[]): void {
  const optionalDependencies = Object.fromEntries(packages.map((name) => [name, version]));
  writeFileSync(join(checkout, '.nvmrc'), `${version}\n`);
  writeFileSync(join(checkout, 'package.json'), JSON.stringify({ optionalDependencies }));
}

function install(packages: string[]): void {
  rmSync(join(checkout, 'node_modules'), { recursive: true, force: true });
  for (const name of packages) mkdirSync(join(checkout, 'node_modules', name), { recursive: true });
  mkdirSync(join(checkout, 'node_modules'), { recursive: true });
  writeFileSync(join(checkout, 'node_modules/.package-lock.json'), '{}');
}

function runProgram() {
  const args = ['--import', './scripts/preflight.mjs', '--import', 'a-package-that-is-missing', 'program.mjs'];
  const { status, stderr } = runProgramSync(process.execPath, args, { cwd: checkout });
  return { status, stderr: stderr.trim() };
}

test('a checkout without packages names npm ci, before a missing package is an error', () => {
  rmSync(join(checkout, 'node_modules'), { recursive: true });
  expect(runProgram()).toEqual({ status: 1, stderr: 'The packages are not installed. Run: npm ci' });
});

test('a Node binary that npm left out names the command that installs it', () => {
  describeCheckout(`${OTHER_MAJOR}.1.0`, [OWN_PACKAGE]);
  install([]);
  expect(runProgram()).toEqual({
    status: 1,
    stderr:
      `This needs Node ${OTHER_MAJOR}, but Node ${process.versions.node} runs it. ` +
      `The package ${OWN_PACKAGE} is not installed. Run: npm ci --include=optional`,
  });
});

test('a system without a Node package names the command that installs Node', () => {
  describeCheckout(`${OTHER_MAJOR}.1.0`, ['node-another-system']);
  expect(runProgram()).toEqual({
    status: 1,
    stderr:
      `This needs Node ${OTHER_MAJOR}, but Node ${process.versions.node} runs it. ` +
      `No package has it for this system. Run: nvm install ${OTHER_MAJOR}`,
  });
});

test('a program that is started without npm on another Node names npm', () => {
  describeCheckout(`${OTHER_MAJOR}.1.0`, [OWN_PACKAGE]);
  expect(runProgram()).toEqual({
    status: 1,
    stderr:
      `This needs Node ${OTHER_MAJOR}, but Node ${process.versions.node} runs it. ` +
      'Use an npm script, or put it in front: npm exec -- node',
  });
});

test('an installed checkout on the right Node goes on to the next import', () => {
  const { status, stderr } = runProgram();
  expect(status).toBe(1);
  expect(stderr).toContain('a-package-that-is-missing');
  expect(stderr).not.toContain('This needs Node');
});
