import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../support/local-server';
import { runProgramSync } from '../support/programs';

/** What is compared with the last release, in repositories without one and with one. */

afterAll(cleanUp);

const description = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  components: { schemas: { Team: { properties: object } } };
};

/** Runs a command of this checkout, for which another folder is the repository. */
function run(command: string, repository: string, ...args: string[]) {
  return runProgramSync(process.execPath, ['--import', 'tsx', command, ...args], {
    env: { GIT_DIR: join(repository, '.git') },
  });
}

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
  expect(runProgramSync('git', args, { cwd })).toMatchObject({ status: 0 });
}

test('before the first release there is nothing to compare with', () => {
  const { status, stdout, stderr } = run('scripts/release-check.ts', createRepository());
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('There is no release yet');
});

test('a description that only adds to that of the release passes', () => {
  const repository = createRepository();
  const released = structuredClone(description);
  delete (released.components.schemas.Team.properties as { country_iso?: object }).country_iso;
  release(repository, released);
  expect(run('scripts/contract/breaking.ts', repository, 'v1.0.0')).toMatchObject({ status: 0 });
});

test('a description that lacks a field of the release fails, with its name', () => {
  const repository = createRepository();
  const released = structuredClone(description);
  Object.assign(released.components.schemas.Team.properties, { gone: { type: 'string' } });
  release(repository, released);
  const { status, stdout } = run('scripts/contract/breaking.ts', repository, 'v1.0.0');
  expect(status).toBe(1);
  expect(stdout).toContain('Property `gone` of `Team` was removed');
});
