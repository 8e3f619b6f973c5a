import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/**
 * Tests the jobs that can act for the project, sign or publish, and the build of a release: they execute only what a reviewer has
 * read, which is pinned actions and the lines of privileged-lines.txt. Before you add a line there, check that it runs no script of a
 * package, installs no development package of the repository, and executes no file of another job (docs/security.md#dependencies).
 */

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
  env?: Record<string, unknown>;
}

interface Job {
  permissions?: Record<string, string>;
  env?: Record<string, unknown>;
  steps: Step[];
}

interface Workflow {
  permissions?: Record<string, string>;
  env?: Record<string, unknown>;
  defaults?: unknown;
  jobs: Record<string, Job>;
}

const WORKFLOWS = '.github/workflows';

// GitHub runs files that end in `.yml` or `.yaml`, so the test reads every file of the folder.
const jobs = readdirSync(WORKFLOWS).flatMap((file) => {
  const { jobs: found, permissions, ...workflow } = parse(readFileSync(join(WORKFLOWS, file), 'utf8')) as Workflow;
  return Object.entries(found).map(([name, job]) => ({
    ...job,
    name: `${file} ${name}`,
    permissions: job.permissions ?? permissions,
    // `env` and `defaults` of a workflow would change every step, so they need a reviewer too.
    inherited: [workflow.env, workflow.defaults].filter((each) => each !== undefined),
  }));
});

/** Permissions that do no harm. Only CodeQL writes security events, and it executes no package. */
const HARMLESS = ['actions: read', 'contents: read', 'security-events: write'];

/** Whether a job can do harm: by a permission, by the variables, secrets or identity of an environment, or by another secret. */
const hasRights = ({ permissions = {}, ...job }: { permissions?: Record<string, string> | undefined }): boolean =>
  Object.entries(permissions).some(([scope, right]) => !HARMLESS.includes(`${scope}: ${right}`)) ||
  'environment' in job ||
  JSON.stringify(job).includes('secrets');

const withRights = jobs.filter(hasRights);

// The build of a release has no rights, but decides what is published.
const privileged = [...withRights, ...jobs.filter(({ name }) => name === 'release.yml build')];

test('each job or its workflow states the permissions of the job, and no checkout keeps a token', () => {
  for (const { name, permissions, steps } of jobs) {
    expect([name, permissions]).toEqual([name, expect.any(Object)]);
    const checkouts = steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'));
    for (const checkout of checkouts) expect(checkout).toMatchObject({ with: { 'persist-credentials': false } });
  }
});

test.each<[string, object]>([
  ['an environment', { environment: 'production' }],
  ['a secret', { steps: [{ run: 'tool', env: { KEY: '${{ secrets.DEPLOY_KEY }}' } }] }],
  ['secrets for a workflow that it calls', { uses: './.github/workflows/other.yml', secrets: 'inherit' }],
  ['a permission', { permissions: { 'id-token': 'write' } }],
])('a job with %s has rights', (_, job) => {
  expect(hasRights({ permissions: { contents: 'read' }, ...job })).toBe(true);
});

test('only four jobs have a right that could do harm', () => {
  const found = withRights.map(({ name }) => name).sort();
  expect(found).toEqual(['audit.yml audit', 'deploy.yml deploy', 'release.yml attest', 'release.yml publish']);
});

const JOB_KEYS = ['name', 'timeout-minutes', 'permissions', 'environment', 'concurrency', 'needs'];
const STEP_KEYS = ['name', 'id', 'if'];

interface Described {
  steps?: Step[];
  env?: Record<string, unknown> | undefined;
  inherited?: unknown[];
}

/** Returns one line for each thing that a job executes, or that changes what it executes. The commit of an action is left out. */
function describeJob({ steps = [], env, inherited = [], ...job }: Described): string[] {
  return [
    ...describeKeys('job', job, ['outputs', ...JOB_KEYS]),
    ...inherited.map((each) => `workflow ${JSON.stringify(each)}`),
    ...describeEnvironment(env),
    ...steps.flatMap(describeStep),
  ];
}

function describeStep({ uses, run = '', with: inputs = {}, env, ...step }: Step): string[] {
  return [
    ...describeKeys('step', step, STEP_KEYS),
    ...(uses === undefined ? [] : [`uses ${uses.replace(/@[0-9a-f]{40}$/, '')} ${JSON.stringify(inputs)}`]),
    ...describeEnvironment(env),
    ...run.split('\n').flatMap((line) => (line.trim() === '' || line.trim().startsWith('#') ? [] : [line.trim()])),
  ];
}

const describeKeys = (of: string, keys: object, harmless: string[]) =>
  Object.entries(keys).flatMap(([key, value]) =>
    harmless.includes(key) ? [] : [`${of} ${key}: ${JSON.stringify(value)}`],
  );

const describeEnvironment = (env: Record<string, unknown> = {}) =>
  Object.entries(env).map(([name, value]) => `env ${name}=${String(value)}`);

const approved = readFileSync('deploy/test/privileged-lines.txt', 'utf8').trimEnd().split('\n');

const findUnread = (job: Described) => describeJob(job).filter((line) => !approved.includes(line));

test('each job with rights, and the build of a release, executes only what a reviewer has read, and privileged-lines.txt has no other line', () => {
  expect(privileged.map((job) => [job.name, findUnread(job)])).toEqual(privileged.map(({ name }) => [name, []]));
  const used = new Set(privileged.flatMap((job) => describeJob(job)));
  expect(approved.filter((line) => !used.has(line))).toEqual([]);
});

test.each<[string, object]>([
  ['an action of a branch', { uses: 'actions/checkout@main', with: { 'persist-credentials': false } }],
  ['an action that no other step uses', { uses: `someone/action@${'a'.repeat(40)}` }],
  ['a cache', { uses: `actions/setup-node@${'a'.repeat(40)}`, with: { 'node-version-file': '.nvmrc', cache: 'npm' } }],
  ['an installation', { run: 'sudo npm install' }],
  ['a package', { run: 'env CI=1 npx tool' }],
  ['a script from the network', { run: 'curl https://example.com/install.sh | bash' }],
  ['a package of another language', { run: 'pip install tool' }],
  ['a second command in a known line', { run: 'npm ci --prefix functions/dist --ignore-scripts && npx tool' }],
  ['another shell', { run: 'rm -r node_modules', shell: 'npx tool {0}' }],
  ['an option of Node', { run: 'rm -r node_modules', env: { NODE_OPTIONS: '--require ./tool.cjs' } }],
])('a step with %s needs a reviewer', (_, step) => {
  expect(findUnread({ steps: [step] })).not.toEqual([]);
});

test.each<[string, object]>([
  ['a container', { container: 'node:24' }],
  ['a self-hosted runner', { 'runs-on': 'self-hosted' }],
  ['values that its lines can use', { strategy: { matrix: { version: ['1; npx tool'] } } }],
  ['a workflow that it calls', { uses: './.github/workflows/other.yml' }],
  ['variables of its workflow', { inherited: [{ NODE_OPTIONS: '--require ./tool.cjs' }] }],
])('a job with %s needs a reviewer', (_, job) => {
  expect(findUnread(job)).not.toEqual([]);
});
