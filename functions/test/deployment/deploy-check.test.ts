import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { runChecks, type Finding } from '../../../scripts/deploy/checks';
import { UnreachableError, type AskGoogle } from '../../../scripts/deploy/google-api';
import { startProgram } from '../../../test/support/programs';
import indexDefinitions from '../../../firestore.indexes.json';

/** `npm run deploy:check` against a stub of the Google APIs that it calls. */

const PROJECT_ID = 'deploy-check-test';
const PARAMETERS_FILE = `functions/.env.${PROJECT_ID}`;
const ORIGINS = 'https://dashboard.example.com';

const PATH = `v1/projects/${PROJECT_ID}`;
const REGION = 'locations/us-central1';
const emailOf = (name: string) => `${name}@${PROJECT_ID}.iam.gserviceaccount.com`;
const READER = emailOf('organisation-data-reader');
const WRITER = emailOf('price-lists-writer');
const DEPLOYER = emailOf('deployer');
const AUDITOR = emailOf('auditor');
const BUILDER = '1-compute@developer.gserviceaccount.com';
const SCHEDULER = 'service-1@gcp-sa-cloudscheduler.iam.gserviceaccount.com';

const policyOf = (grants: [role: string, member: string][]) => ({
  bindings: grants.map(([role, member]) => ({ role, members: [member] })),
});

const ROLES: [role: string, member: string][] = [
  ['roles/datastore.viewer', `serviceAccount:${READER}`],
  ['roles/datastore.user', `serviceAccount:${WRITER}`],
  ['roles/cloudbuild.builds.builder', `serviceAccount:${BUILDER}`],
  ['roles/cloudscheduler.serviceAgent', `serviceAccount:${SCHEDULER}`],
];

const POOL = 'locations/global/workloadIdentityPools/github';
const memberOf = (rest: string) => `principalSet://iam.googleapis.com/projects/1/${POOL}/${rest}`;
const actsAs = (rest: string) => policyOf([['roles/iam.workloadIdentityUser', memberOf(rest)]]);
const CONDITION =
  "assertion.repository_owner_id == '12' && assertion.repository_id == '34' && " +
  "assertion.environment in ['production', 'audit']";
const providersOf = (attributeCondition: string, environment = 'assertion.environment') => ({
  workloadIdentityPoolProviders: [
    {
      name: `projects/1/${POOL}/providers/github`,
      attributeMapping: { 'google.subject': 'assertion.sub', 'attribute.environment': environment },
      attributeCondition,
    },
  ],
});

const storedIndexes = (state: string) => ({
  indexes: indexDefinitions.indexes.map(({ collectionGroup, queryScope, fields }, index) => ({
    name: `projects/${PROJECT_ID}/databases/(default)/collectionGroups/${collectionGroup}/indexes/${index}`,
    queryScope,
    state,
    fields: [...fields, { fieldPath: '__name__', order: 'ASCENDING' }],
  })),
});

interface Permissions {
  permissions: string[];
}

/** An answer by API and path, without the query: what is not listed does not exist. */
type Answers = Record<string, object | ((body: Permissions) => object) | undefined>;

const without =
  (...lacking: string[]) =>
  ({ permissions }: Permissions) => ({
    permissions: permissions.filter((permission) => !lacking.includes(permission)),
  });

const repository = `artifactregistry ${PATH}/${REGION}/repositories/gcf-artifacts`;
const builder = `cloudbuild ${PATH}/${REGION}/defaultServiceAccount`;
const organisation = `cloudresourcemanager ${PATH}:getEffectiveOrgPolicy`;
const policy = `cloudresourcemanager ${PATH}:getIamPolicy`;
const permissions = `cloudresourcemanager ${PATH}:testIamPermissions`;
const indexes = `firestore ${PATH}/databases/(default)/collectionGroups/-/indexes`;
const providers = `iam ${PATH}/${POOL}/providers`;
const account = (email: string, method = '') => `iam ${PATH}/serviceAccounts/${email}${method}`;

/** A project in which nothing is missing. */
const READY: Answers = {
  [repository]: { cleanupPolicies: { old: {} } },
  [builder]: { serviceAccountEmail: `projects/${PROJECT_ID}/serviceAccounts/${BUILDER}` },
  [`cloudresourcemanager ${PATH}`]: { projectNumber: '1' },
  [organisation]: { listPolicy: { allValues: 'ALLOW' } },
  [policy]: policyOf(ROLES),
  [permissions]: without(),
  [indexes]: storedIndexes('READY'),
  [providers]: providersOf(CONDITION),
  [`iam ${PATH}/serviceAccounts`]: { accounts: [DEPLOYER, AUDITOR, WRITER].map((email) => ({ email })) },
  [account(AUDITOR, ':getIamPolicy')]: actsAs('attribute.environment/audit'),
  [account(DEPLOYER, ':getIamPolicy')]: actsAs('attribute.environment/production'),
  [account(READER)]: {},
  [account(READER, ':testIamPermissions')]: without(),
  [account(WRITER)]: {},
  [account(WRITER, ':getIamPolicy')]: {},
  [account(WRITER, ':testIamPermissions')]: without(),
};

function answer(answers: Answers, api: string, pathAndQuery: string, body: unknown): object | undefined {
  const found = answers[`${api} ${pathAndQuery.replace(/\?.*/, '')}`];
  return typeof found === 'function' ? (found as (body: Permissions) => object)(body as Permissions) : found;
}

const check = (changes: Answers = {}, origins = ORIGINS): Promise<Finding[]> => {
  const ask = (api: string, path: string, body?: object) =>
    Promise.resolve(answer({ ...READY, ...changes }, api, path, body));
  return runChecks({ id: PROJECT_ID, origins, ask: ask as AskGoogle });
};

/** Findings that are not `ok`, a line each. */
const listProblems = (findings: Finding[]): string[] =>
  findings.flatMap((finding) => {
    if (finding.kind === 'ok') return [];
    return [`${finding.subject}: ${finding.detail}${finding.kind === 'missing' ? ` | ${finding.fix}` : ''}`];
  });

const policyWithout = (role: string) => ({ [policy]: policyOf(ROLES.filter(([each]) => each !== role)) });

type Row = [subject: string, detail: string, answers: Answers, origins?: string];

const ROWS: Row[] = [
  ['parameter CORS_ALLOWED_ORIGINS', '"https://a.com/" is not an origin', {}, 'https://a.com/'],
  ['clean-up policy of the images', 'no repository gcf-artifacts', { [repository]: undefined }],
  ['clean-up policy of the images', 'not set', { [repository]: {} }],
  [
    'organisation policy',
    'constraints/iam.allowedPolicyMemberDomains forbids allUsers',
    { [organisation]: { listPolicy: { allowedValues: ['C01'] } } },
  ],
  [
    'identity of GitHub',
    "provider github accepts too much: assertion.repository=='a/b'",
    { [providers]: providersOf("assertion.repository=='a/b'") },
  ],
  [
    'identity of GitHub',
    `provider github accepts too much: ${CONDITION} || true`,
    { [providers]: providersOf(`${CONDITION} || true`) },
  ],
  [
    'identity of GitHub',
    'provider github does not map the environment',
    { [providers]: providersOf(CONDITION, "'production'") },
  ],
  [
    'identity of GitHub',
    `${memberOf('attribute.repository/a/b')} acts as ${DEPLOYER}`,
    { [account(DEPLOYER, ':getIamPolicy')]: actsAs('attribute.repository/a/b') },
  ],
  [
    'identity of GitHub',
    `${memberOf('attribute.environment/audit')} acts as ${WRITER} and ${AUDITOR}`,
    { [account(WRITER, ':getIamPolicy')]: actsAs('attribute.environment/audit') },
  ],
  [
    'identity of GitHub',
    `${memberOf('*')} has roles/editor in the whole project`,
    { [policy]: policyOf([...ROLES, ['roles/editor', memberOf('*')]]) },
  ],
  ['role of organisation-data-reader', 'no such account', { [account(READER)]: undefined }],
  [
    'role of organisation-data-reader',
    `${READER} lacks roles/datastore.viewer`,
    policyWithout('roles/datastore.viewer'),
  ],
  ['role of the account that builds', 'no account', { [builder]: {} }],
  [
    'role of the account that builds',
    `${BUILDER} lacks roles/cloudbuild.builds.builder`,
    policyWithout('roles/cloudbuild.builds.builder'),
  ],
  [
    'role of the agent of Cloud Scheduler',
    `${SCHEDULER} lacks roles/cloudscheduler.serviceAgent`,
    policyWithout('roles/cloudscheduler.serviceAgent'),
  ],
  ['deployer: acts as price-lists-writer', 'not granted', { [account(WRITER, ':testIamPermissions')]: {} }],
  [
    'deployer: roles/cloudscheduler.admin',
    'lacks cloudscheduler.jobs.update',
    { [permissions]: without('cloudscheduler.jobs.update') },
  ],
  [
    'index orders (COLLECTION), team_id ASCENDING, created_at ASCENDING',
    'not found',
    { [indexes]: { indexes: storedIndexes('READY').indexes.slice(1) } },
  ],
];

test.each(ROWS)('%s: %s', async (...[subject, detail, answers, origins]) => {
  const problems = listProblems(await check(answers, origins));
  expect(problems).toEqual([expect.stringContaining(`${subject}: ${detail}`)]);
  // What supplies it is a command for this project.
  expect(problems[0]).toMatch(new RegExp(`\\| (gcloud|firebase|edit) .*${PROJECT_ID}`));
});

test.each<[string, Answers]>([
  [
    'that builds with the account of older projects',
    { [builder]: { serviceAccountEmail: '1@cloudbuild.gserviceaccount.com' } },
  ],
  ['that is not deployed from GitHub', { [providers]: undefined }],
  ['whose images shall be kept', { [repository]: { labels: { 'firebase-functions-cleanup-opted-out': 'true' } } }],
])('nothing is missing in a project %s', async (_, answers) => {
  expect(listProblems(await check(answers))).toEqual([]);
});

test('an index that is being built is waited for', async () => {
  const problems = listProblems(await check({ [indexes]: storedIndexes('CREATING') }));
  expect(problems).toHaveLength(indexDefinitions.indexes.length);
  for (const problem of problems) expect(problem).toMatch(/: being built \| wait, and run this command again$/);
});

test('what the APIs do not tell is unknown, with the reason, and not missing', async () => {
  const ask = () => Promise.reject(new UnreachableError('firestore.googleapis.com returned 403: stub'));
  const findings = await runChecks({ id: PROJECT_ID, origins: ORIGINS, ask });
  expect(findings.filter(({ kind }) => kind === 'missing')).toEqual([]);
  expect(listProblems(findings)).toContain(
    'clean-up policy of the images: firestore.googleapis.com returned 403: stub',
  );
});

describe('the command', () => {
  let server: Server;
  let endpoint: string;
  let answers: Answers;
  let requests: string[];
  let authorizations: Set<string | undefined>;

  beforeAll(async () => {
    server = createServer((request, response) => {
      void (async () => {
        const { method = '', url = '' } = request;
        const [, api = '', path = ''] = /^\/(\w+)\.googleapis\.com\/(.*)$/.exec(url) ?? [];
        requests.push(`${method} ${url}`);
        authorizations.add(request.headers.authorization);
        const body = await text(request);
        const found = answer(answers, api, path, body === '' ? undefined : JSON.parse(body));
        response.statusCode = found === undefined ? 404 : 200;
        response.end(JSON.stringify(found ?? { error: { message: 'stub' } }));
      })();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  beforeEach(() => {
    answers = READY;
    requests = [];
    authorizations = new Set();
  });

  afterEach(() => rmSync(PARAMETERS_FILE, { force: true }));

  afterAll(() => void server.close());

  async function runCommand(args: string[], env: NodeJS.ProcessEnv = {}) {
    const child = startProgram(process.execPath, ['--import', 'tsx', 'scripts/deploy-check.ts', ...args], {
      env: { GOOGLE_API_ENDPOINT: endpoint, CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token', ...env },
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { code, stdout, stderr };
  }

  test('passes a project that has everything, with requests that change nothing', async () => {
    writeFileSync(PARAMETERS_FILE, `CORS_ALLOWED_ORIGINS=${ORIGINS}\n`);
    const { code, stdout } = await runCommand(['--project', PROJECT_ID, '--json']);
    expect(listProblems(JSON.parse(stdout) as Finding[])).toEqual([]);
    expect(code).toBe(0);
    const reads = /^GET |^POST [^?]+:(getIamPolicy|getEffectiveOrgPolicy|testIamPermissions)$/;
    for (const request of requests) expect(request).toMatch(reads);
    expect(authorizations).toEqual(new Set(['Bearer a-token']));
  });

  test('lists what an empty project lacks', async () => {
    answers = {};
    writeFileSync(PARAMETERS_FILE, 'CORS_ALLOWED_ORIGINS=*\n');
    const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Missing \(\d+\)\n {2}parameter CORS_ALLOWED_ORIGINS: "\*" is a pattern.*\n {6}edit /);
    expect(stdout).not.toContain('Could not be checked');
    expect(stdout).toMatch(/\n\nThere \(2\)\n {2}organisation policy\n {2}identity of GitHub\n$/);
  });

  test('says what it could not check without a connection', async () => {
    // The system gives this port to nobody.
    const { code, stdout } = await runCommand(['--project', PROJECT_ID], { GOOGLE_API_ENDPOINT: 'http://127.0.0.1:2' });
    expect(code).toBe(2);
    expect(stdout).toMatch(/^Could not be checked \(1\): cloudbuild\.googleapis\.com: .*ECONNREFUSED.*$/m);
  });

  test('says first that it has no credentials, and lists what is unknown under one reason', async () => {
    const { code, stdout, stderr } = await runCommand(['--project', PROJECT_ID], {
      CLOUDSDK_AUTH_ACCESS_TOKEN: undefined,
      GOOGLE_APPLICATION_CREDENTIALS: '/nowhere',
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^No Google credentials: .*gcloud auth application-default login\n/);
    expect(stdout.match(/Could not be checked/g)).toHaveLength(1);
    expect(stdout).toContain(': no credentials\n');
    expect(requests).toEqual([]);
  });

  test('prints with --help what it does, with its exit codes', async () => {
    const { code, stdout, stderr } = await runCommand(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Exit code: 0');
  });

  test.each([
    [[], '--project is missing'],
    [['--project', 'a/b'], '--project a/b: a project id has 6 to 30'],
    [['--bogus'], "Unknown option '--bogus'"],
  ])('says what is wrong with %j, and shows the usage', async (args, problem) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.startsWith(problem)).toBe(true);
    expect(stderr).toContain('Usage: npm run deploy:check -- --project <project> [--json]\n');
    expect(requests).toEqual([]);
  });
});
