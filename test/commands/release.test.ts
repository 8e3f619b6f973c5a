import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../support/local-server';
import { runProgramSync } from '../support/programs';

/** `npm run release:check`, which compares this checkout with its last release. */

afterAll(cleanUp);

const runCheck = (args: string[], env = {}) =>
  runProgramSync(process.execPath, ['--import', 'tsx', 'scripts/release-check.ts', ...args], { env });

function git(cwd: string, ...args: string[]): void {
  const env = { GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_SYSTEM: devNull };
  expect(runProgramSync('git', args, { cwd, env })).toMatchObject({ status: 0 });
}

test('a tag with another version than the packages fails, with all versions', () => {
  const { status, stderr } = runCheck(['v9.9.9']);
  expect(status).toBe(1);
  expect(stderr).toContain('  9.9.9  the tag v9.9.9\n');
});

test('a description that lacks a field of the release fails with the name of the field, and the takeover is still tried', () => {
  const released = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
    components: { schemas: { Team: { properties: object } } };
  };
  Object.assign(released.components.schemas.Team.properties, { gone: { type: 'string' } });
  const repository = temporaryFolder();
  mkdirSync(join(repository, 'docs'));
  writeFileSync(join(repository, 'docs/openapi.json'), JSON.stringify(released));
  git(repository, 'init', '--quiet');
  git(repository, 'add', '.');
  git(repository, '-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--message', 'Release');
  git(repository, 'tag', 'v1.0.0');

  const { status, stdout, stderr } = runCheck([], { GIT_DIR: join(repository, '.git') });
  expect(status).toBe(1);
  expect(stderr).toMatch(/breaks clients of v1\.0\.0:\n {2}GET \/getTeams: Property `gone` of `Team` was removed\.\n/);
  expect(stderr).toContain('Accept a change by its name, with the reason, in scripts/openapi/accepted-changes.json.');
  expect(stdout).toContain('Checking out and building v1.0.0');
  // The release cannot be built, because it has no package.json.
  expect(stderr).toMatch(/\n\n.*npm ci/s);
});
