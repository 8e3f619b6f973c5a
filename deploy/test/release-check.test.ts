import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { join, resolve } from 'node:path';
import { cleanUp, temporaryFolder } from '../../test/harness/local-server';
import { runProgramSync } from '../../dev/run/programs';

/**
 * Tests `npm run release:check`, which compares a checkout with an earlier revision. The checkouts that these tests create have only
 * the files that the program reads.
 */

afterAll(cleanUp);

const TSX = require.resolve('tsx');

const runCheck = (cwd: string, ...args: string[]) =>
  runProgramSync(process.execPath, ['--import', TSX, resolve('deploy/release-check.ts'), ...args], { cwd });

function git(cwd: string, ...args: string[]): void {
  const env = { GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_SYSTEM: devNull };
  expect(runProgramSync('git', args, { cwd, env })).toMatchObject({ status: 0 });
}

function commit(cwd: string): void {
  git(cwd, 'add', '.');
  git(cwd, '-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--message', 'x');
}

const BREAKS = 'deploy/accepted-breaks.json';
const DESCRIPTION = 'docs/openapi.json';

const write = (folder: string, file: string, value: object) =>
  writeFileSync(join(folder, file), JSON.stringify(value, null, 2));

/** Creates a checkout with one commit. Its description has one field more than docs/openapi.json. */
function createCheckout(): string {
  const folder = temporaryFolder();
  for (const name of ['docs', 'deploy', 'functions']) mkdirSync(join(folder, name));
  const description = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as {
    components: { schemas: { Team: { properties: object } } };
  };
  Object.assign(description.components.schemas.Team.properties, { gone: { type: 'string' } });
  write(folder, DESCRIPTION, description);
  for (const file of ['package.json', 'functions/package.json', 'CHANGELOG.md']) cpSync(file, join(folder, file));
  write(folder, BREAKS, {});
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  git(folder, 'init', '--quiet');
  commit(folder);
  return folder;
}

/** Removes the additional field from the description of a checkout, which breaks clients. */
const breakDescription = (folder: string) => cpSync(DESCRIPTION, join(folder, DESCRIPTION));

test('release:check fails for a tag whose version is not that of the packages, and names that tag', () => {
  const { status, stderr } = runCheck('.', 'v9.9.9');
  expect(status).toBe(1);
  expect(stderr).toContain('  9.9.9  the tag v9.9.9\n');
});

test('release:check fails if there is neither an earlier tag nor a parent commit, or if the named revision does not exist', () => {
  const folder = createCheckout();
  expect(runCheck(folder)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('There is nothing to compare with: no earlier tag v… and no parent') as string,
  });
  expect(runCheck(folder, '--with', '0'.repeat(40))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('There is nothing to compare with: this clone has no revision 000') as string,
  });
});

test('release:check fails for a break and names it, and passes if the break is accepted', () => {
  const folder = createCheckout();
  breakDescription(folder);
  commit(folder);
  const { status, stderr } = runCheck(folder);
  expect(status).toBe(1);
  const [, name = 'none'] =
    /breaks clients of [0-9a-f]{7,}:\n {2}([^\n]*`gone` of `Team` was removed\.)\n/.exec(stderr) ?? [];
  expect(stderr).toContain(`To accept a change, add its name with the reason to ${BREAKS}.`);
  write(folder, BREAKS, { [name]: 'Nobody reads it.' });
  const accepted = runCheck(folder);
  expect(accepted).toMatchObject({ status: 0, stderr: '' });
  expect(accepted.stdout).toContain(`Accepted: ${name} Nobody reads it.`);
  expect(accepted.stdout).toContain(', except for the accepted breaks.\n');
});

test('release:check names the table of accepted breaks or the package.json that it cannot read', () => {
  const folder = createCheckout();
  for (const text of ['', 'null', '{"a":1}']) {
    writeFileSync(join(folder, BREAKS), text);
    expect(runCheck(folder, '--with', 'HEAD')).toMatchObject({ status: 1, stderr: `${BREAKS} cannot be read\n` });
  }
  write(folder, 'package.json', {});
  expect(runCheck(folder, 'v1.0.0')).toMatchObject({ status: 1, stderr: 'package.json cannot be read\n' });
});
