import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../support/local-server';
import { runProgramSync } from '../support/programs';

/** What is compared with the last release, in repositories without one and with one. */

afterAll(cleanUp);

const description = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  components: { schemas: { Team: { properties: object } } };
};

/** Runs the check of this checkout, for which another folder is the repository. */
const runCheck = (repository: string, ...args: string[]) =>
  runProgramSync(process.execPath, ['--import', 'tsx', 'scripts/release-check.ts', ...args], {
    env: { GIT_DIR: join(repository, '.git') },
  });

function createRepository(): string {
  const folder = temporaryFolder();
  git(folder, 'init', '--quiet');
  return folder;
}

/** Commits a description and tags it as a release. */
function release(repository: string, released: object): void {
  mkdirSync(join(repository, 'docs'));
  writeFileSync(join(repository, 'docs/openapi.json'), JSON.stringify(released));
  git(repository, 'add', '.');
  git(repository, '-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--message', 'Release');
  git(repository, 'tag', 'v1.0.0');
}

function git(cwd: string, ...args: string[]): void {
  expect(
    runProgramSync('git', args, { cwd, env: { GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_SYSTEM: devNull } }),
  ).toMatchObject({ status: 0 });
}

test('before the first release there is nothing to compare with', () => {
  const { status, stdout, stderr } = runCheck(createRepository());
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('There is no release yet');
});

test('a tag with another version than the packages fails, with all of them', () => {
  const { status, stderr } = runCheck(createRepository(), 'v9.9.9');
  expect(status).toBe(1);
  expect(stderr).toContain('  9.9.9  the tag v9.9.9\n');
});

test('a revision that the repository lacks is named, in place of an error of git', () => {
  const { status, stderr } = runCheck(createRepository(), '--with', 'v1.0.0');
  expect([status, stderr]).toEqual([1, 'v1.0.0 is no tag or commit of this repository. `git tag` lists the tags.\n']);
});

// The release has no package.json, so that it cannot be built.
test('a description that lacks a field of the release fails, with its name, and the take-over is tried all the same', () => {
  const repository = createRepository();
  const released = structuredClone(description);
  Object.assign(released.components.schemas.Team.properties, { gone: { type: 'string' } });
  release(repository, released);
  const { status, stdout, stderr } = runCheck(repository);
  expect(status).toBe(1);
  expect(stderr).toMatch(/breaks clients of v1\.0\.0:\n {2}GET \/getTeams: Property `gone` of `Team` was removed\.\n/);
  expect(stderr).toContain('Accept a change by its name, with the reason, in scripts/openapi/accepted-changes.json.');
  expect(stdout).toContain('Checking out and building v1.0.0');
  expect(stderr).toMatch(/\n\n.*npm ci/s);
});
