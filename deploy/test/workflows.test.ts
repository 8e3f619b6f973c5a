import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'yaml';

/** Tests that a job that can act for the project, sign or publish executes no file of another job. */

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

interface Workflow {
  permissions?: Record<string, string>;
  jobs: Record<string, { permissions?: Record<string, string>; steps: Step[] }>;
}

const jobs = globSync('.github/workflows/*.yml').flatMap((path) => {
  const workflow = parse(readFileSync(path, 'utf8')) as Workflow;
  return Object.entries(workflow.jobs).map(([name, { permissions = workflow.permissions, steps }]) => ({
    job: `${basename(path)} ${name}`,
    permissions,
    steps,
    commands: steps.flatMap(({ run = '' }) => run.split(/\n|&&|\|\||;/).map((line) => line.trim())),
  }));
});

/** CodeQL writes security events, and executes no package. */
const HARMLESS = ['actions: read', 'contents: read', 'security-events: write'];

const withRights = jobs.filter(({ permissions = {} }) =>
  Object.entries(permissions).some(([scope, right]) => !HARMLESS.includes(`${scope}: ${right}`)),
);

test('each job or its workflow states the permissions, and no checkout keeps a token', () => {
  for (const { job, permissions, steps } of jobs) {
    expect([job, permissions]).toEqual([job, expect.any(Object)]);
    const checkouts = steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'));
    for (const checkout of checkouts) expect(checkout).toMatchObject({ with: { 'persist-credentials': false } });
  }
});

test('only four jobs have a right that could do harm', () => {
  const found = withRights.map(({ job }) => job).sort();
  expect(found).toEqual(['audit.yml audit', 'deploy.yml deploy', 'release.yml attest', 'release.yml publish']);
});

/**
 * Matches a command that runs no script of a package, and installs no development package of the repository. Those of
 * functions/dist are production packages of the repository, with which release.test.ts builds, and .github/tools has none.
 */
const INSTALL = /^npm ci (--omit=dev --include=prod|--prefix (functions\/dist|\.github\/tools)) --ignore-scripts$/;

// The build of a release has no rights, but decides what is signed.
test.each([...withRights, ...jobs.filter(({ job }) => job === 'release.yml build')])(
  '$job runs no script of a package, installs no development package of the repository, and executes no file that it downloads',
  ({ steps, commands }) => {
    for (const command of commands.filter((each) => /^(npm|npx)\b/.test(each))) expect(command).toMatch(INSTALL);
    const executing = commands.filter((each) => /^(npm|npx|node|firebase|bash|sh|\.|[\w.-]+\/)/.test(each));
    const downloading = commands.filter((each) => each.includes('gh run download'));
    expect(downloading.length > 0 ? executing : []).toEqual([]);
    expect(steps.filter(({ uses = '' }) => /download-artifact|\/cache/.test(uses))).toEqual([]);
  },
);
