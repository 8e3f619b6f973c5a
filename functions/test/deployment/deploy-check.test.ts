import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { runChecks, type Deployment, type Finding } from '../../../scripts/deploy/checks';
import { createGoogleClient } from '../../../scripts/deploy/google-api';
import { readDeployManifest } from '../../../scripts/deploy/manifest';
import { startProgram } from '../../../test/support/programs';
import indexDefinitions from '../../../firestore.indexes.json';
import { DEPLOY_PACKAGE } from './deployed';

/** `npm run deploy:check` against a stub of the Google APIs that it calls. */

const PROJECT_ID = 'deploy-check-test';
const PARAMETERS_FILE = `functions/.env.${PROJECT_ID}`;
const READER = `organisation-data-reader@${PROJECT_ID}.iam.gserviceaccount.com`;
const WRITER = `price-lists-writer@${PROJECT_ID}.iam.gserviceaccount.com`;

/** The role of the agent as which Cloud Scheduler signs its calls of the scheduled function. */
const SCHEDULER_AGENT = {
  role: 'roles/cloudscheduler.serviceAgent',
  members: ['serviceAccount:service-1@gcp-sa-cloudscheduler.iam.gserviceaccount.com'],
};

/** Response by `METHOD host/path`, without the query; a request that is not listed gets a 404. */
type Responses = Record<string, (body: { permissions?: string[] }, url: URL) => object>;

/** A project in which nothing is missing. */
const READY: Responses = {
  [`GET cloudfunctions.googleapis.com/v2/projects/${PROJECT_ID}/locations/us-central1/runtimes`]: () => ({
    runtimes: [{ name: 'nodejs24', stage: 'GA' }],
  }),
  [`GET cloudresourcemanager.googleapis.com/v1/projects/${PROJECT_ID}`]: () => ({ lifecycleState: 'ACTIVE' }),
  [`GET cloudbilling.googleapis.com/v1/projects/${PROJECT_ID}/billingInfo`]: () => ({ billingEnabled: true }),
  [`GET serviceusage.googleapis.com/v1/projects/${PROJECT_ID}/services:batchGet`]: (_, { searchParams }) => ({
    services: searchParams.getAll('names').map((name) => ({ name, state: 'ENABLED' })),
  }),
  [`GET cloudscheduler.googleapis.com/v1/projects/${PROJECT_ID}/locations/us-central1`]: () => ({}),
  [`GET iam.googleapis.com/v1/projects/${PROJECT_ID}/serviceAccounts/${READER}`]: () => ({}),
  [`GET iam.googleapis.com/v1/projects/${PROJECT_ID}/serviceAccounts/${WRITER}`]: () => ({}),
  [`POST cloudresourcemanager.googleapis.com/v1/projects/${PROJECT_ID}:getIamPolicy`]: () => ({
    bindings: [
      { role: 'roles/datastore.viewer', members: [`serviceAccount:${READER}`] },
      { role: 'roles/datastore.user', members: [`serviceAccount:${WRITER}`] },
      SCHEDULER_AGENT,
    ],
  }),
  [`GET secretmanager.googleapis.com/v1/projects/${PROJECT_ID}/secrets/API_KEY/versions/latest`]: () => ({
    name: 'projects/1/secrets/API_KEY/versions/3',
    state: 'ENABLED',
  }),
  [`GET firestore.googleapis.com/v1/projects/${PROJECT_ID}/databases/(default)`]: () => ({ type: 'FIRESTORE_NATIVE' }),
  [`GET firestore.googleapis.com/v1/projects/${PROJECT_ID}/databases/(default)/collectionGroups/-/indexes`]: () => ({
    indexes: storedIndexes('READY'),
  }),
  [`GET firestore.googleapis.com/v1/projects/${PROJECT_ID}/databases/(default)/collectionGroups/-/fields`]: () => ({
    fields: indexDefinitions.fieldOverrides.map(({ collectionGroup, fieldPath }) => ({
      name: `projects/${PROJECT_ID}/databases/(default)/collectionGroups/${collectionGroup}/fields/${fieldPath}`,
    })),
  }),
  [`POST cloudresourcemanager.googleapis.com/v1/projects/${PROJECT_ID}:testIamPermissions`]: ({ permissions }) => ({
    permissions,
  }),
  [`POST iam.googleapis.com/v1/projects/${PROJECT_ID}/serviceAccounts/${READER}:testIamPermissions`]: ({
    permissions,
  }) => ({ permissions }),
  [`POST iam.googleapis.com/v1/projects/${PROJECT_ID}/serviceAccounts/${WRITER}:testIamPermissions`]: ({
    permissions,
  }) => ({ permissions }),
};

const storedIndexes = (state: string) =>
  indexDefinitions.indexes.map(({ collectionGroup, queryScope, fields }, index) => ({
    name: `projects/${PROJECT_ID}/databases/(default)/collectionGroups/${collectionGroup}/indexes/${index}`,
    queryScope,
    state,
    fields: [...fields, { fieldPath: '__name__', order: 'ASCENDING' }],
  }));

let server: Server;
let endpoint: string;
let responses: Responses;
let status: number;
let requests: string[];
let authorizations: Set<string | undefined>;
let deployment: Deployment;

const PARAMETERS = { CORS_ALLOWED_ORIGINS: 'https://dashboard.example.com', MIN_INSTANCES: '0', MAX_INSTANCES: '20' };

beforeAll(async () => {
  const manifest = await readDeployManifest(DEPLOY_PACKAGE);
  deployment = {
    projectId: PROJECT_ID,
    manifest,
    runtime: 'nodejs24',
    indexes: indexDefinitions,
    parameters: PARAMETERS,
  };
  server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '', 'http://stub');
      const name = `${request.method ?? ''} ${url.pathname.slice(1)}`;
      requests.push(name);
      authorizations.add(request.headers.authorization);
      const body = await text(request);
      const respond = responses[name];
      response.statusCode = status !== 200 ? status : respond === undefined ? 404 : 200;
      response.end(
        respond === undefined || status !== 200
          ? JSON.stringify({ error: { message: 'stub' } })
          : JSON.stringify(respond(JSON.parse(body === '' ? '{}' : body) as object, url)),
      );
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  responses = { ...READY };
  status = 200;
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

const check = (changes: Partial<Deployment> = {}): Promise<Finding[]> =>
  runChecks({ ...deployment, ...changes }, createGoogleClient(PROJECT_ID, 'a-token', endpoint));

/** Findings that are not `ok`, a line each: subject, detail and the command. */
const listProblems = (findings: Finding[]): string[] =>
  findings.flatMap((finding) =>
    finding.kind === 'ok'
      ? []
      : [`${finding.subject}: ${finding.detail}${finding.kind === 'missing' ? ` | ${finding.fix}` : ''}`],
  );

test('a project that has everything passes, with requests that change nothing', async () => {
  const lines = Object.entries(PARAMETERS).map(([name, value]) => `${name}=${value}`);
  writeFileSync(PARAMETERS_FILE, lines.join('\n'));
  const { code, stdout } = await runCommand(['--project', PROJECT_ID, '--json']);
  expect(listProblems(JSON.parse(stdout) as Finding[])).toEqual([]);
  expect(code).toBe(0);
  for (const request of requests) expect(request).toMatch(/^GET |^POST .+:(getIamPolicy|testIamPermissions)$/);
  expect(authorizations).toEqual(new Set(['Bearer a-token']));
});

test('an empty project has every point missing, each with its command', async () => {
  responses = {};
  const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
  expect(code).toBe(1);
  const commands = stdout.split('\n').filter((line) => line.startsWith('      '));
  for (const command of [
    `echo 'MAX_INSTANCES=20' >> ${PARAMETERS_FILE}`,
    `firebase projects:create ${PROJECT_ID}`,
    `gcloud iam service-accounts create price-lists-writer --project ${PROJECT_ID}`,
    `gcloud projects add-iam-policy-binding ${PROJECT_ID} --condition=None --member=serviceAccount:${READER} --role=roles/datastore.viewer`,
    `firebase functions:secrets:set API_KEY --project ${PROJECT_ID}`,
    `gcloud firestore databases create --location=nam5 --type=firestore-native --project ${PROJECT_ID}`,
    `firebase deploy --only firestore:indexes --project ${PROJECT_ID}`,
  ]) {
    expect(commands.map((line) => line.trim())).toContain(command);
  }
  expect(stdout).toMatch(/^Missing \(\d+\)\n/);
  expect(stdout).toMatch(/\n\nThere \(1\)\n.*not needed\n$/);
  expect(stdout).not.toContain('Could not be checked');
});

test.each([
  [
    'runtime nodejs24: DEPRECATED',
    () => override('locations/us-central1/runtimes', () => ({ runtimes: [{ name: 'nodejs24', stage: 'DEPRECATED' }] })),
  ],
  ['billing: not enabled', () => override('billingInfo', () => ({}))],
  [
    'services: secretmanager.googleapis.com',
    () =>
      override('services:batchGet', (_, { searchParams }) => ({
        services: searchParams
          .getAll('names')
          .map((name) => ({ name, state: name.includes('secretmanager') ? 'DISABLED' : 'ENABLED' })),
      })),
  ],
  [
    'services: cloudscheduler.googleapis.com',
    () =>
      override('services:batchGet', (_, { searchParams }) => ({
        services: searchParams
          .getAll('names')
          .filter((name) => !name.includes('cloudscheduler'))
          .map((name) => ({ name, state: 'ENABLED' })),
      })),
  ],
  [
    'Cloud Scheduler: not in us-central1',
    () =>
      Reflect.deleteProperty(
        responses,
        `GET cloudscheduler.googleapis.com/v1/projects/${PROJECT_ID}/locations/us-central1`,
      ),
  ],
  [
    'roles/cloudscheduler.serviceAgent of service-<project number>@gcp-sa-cloudscheduler.iam.gserviceaccount.com: not granted',
    () =>
      override(':getIamPolicy', () => ({
        bindings: [
          { role: 'roles/datastore.viewer', members: [`serviceAccount:${READER}`] },
          { role: 'roles/datastore.user', members: [`serviceAccount:${WRITER}`] },
        ],
      })),
  ],
  [`service account ${WRITER}: disabled`, () => override(`serviceAccounts/${WRITER}`, () => ({ disabled: true }))],
  [
    `roles/datastore.user of ${WRITER}: not granted`,
    () =>
      override(':getIamPolicy', () => ({
        bindings: [
          { role: 'roles/datastore.viewer', members: [`serviceAccount:${READER}`, `serviceAccount:${WRITER}`] },
          SCHEDULER_AGENT,
        ],
      })),
  ],
  [
    'secret API_KEY: the latest version is DISABLED',
    () => override('versions/latest', () => ({ name: 'versions/3', state: 'DISABLED' })),
  ],
  ['database (default): DATASTORE_MODE', () => override('databases/(default)', () => ({ type: 'DATASTORE_MODE' }))],
  [
    'index orders (COLLECTION), team_id ASCENDING, created_at ASCENDING: being built',
    () => override('/indexes', () => ({ indexes: storedIndexes('CREATING') })),
  ],
  [
    'index exemptions: payload/fields/data',
    () =>
      override('/fields', () => ({
        fields: indexDefinitions.fieldOverrides
          .filter(({ fieldPath }) => fieldPath !== 'data')
          .map(({ collectionGroup, fieldPath }) => ({
            name: `x/collectionGroups/${collectionGroup}/fields/${fieldPath}`,
          })),
      })),
  ],
  [
    'deployer: roles/cloudfunctions.admin: lacks cloudfunctions.functions.setIamPolicy',
    () =>
      override(`${PROJECT_ID}:testIamPermissions`, ({ permissions = [] }) => ({
        permissions: permissions.filter((permission) => permission !== 'cloudfunctions.functions.setIamPolicy'),
      })),
  ],
  [
    'deployer: roles/cloudscheduler.admin: lacks cloudscheduler.jobs.create, cloudscheduler.jobs.update',
    () =>
      override(`${PROJECT_ID}:testIamPermissions`, ({ permissions = [] }) => ({
        permissions: permissions.filter((permission) => !/^cloudscheduler\.jobs\.(create|update)$/.test(permission)),
      })),
  ],
  [`deployer: acts as ${READER}: not granted`, () => override(`${READER}:testIamPermissions`, () => ({}))],
  [
    `deployer: acts as ${PROJECT_ID}@appspot.gserviceaccount.com: not granted`,
    () => {
      responses[
        `POST iam.googleapis.com/v1/projects/${PROJECT_ID}/serviceAccounts/${PROJECT_ID}@appspot.gserviceaccount.com:testIamPermissions`
      ] = () => ({});
    },
  ],
])('reports %s', async (expected, change) => {
  change();
  const findings = await check();
  expect(listProblems(findings)[0]).toContain(expected);
});

test.each([
  ['MIN_INSTANCES', 'many', 'parameter MIN_INSTANCES: many is no number'],
  ['MAX_INSTANCES', undefined, `parameter MAX_INSTANCES: not in ${PARAMETERS_FILE}`],
  [
    'CORS_ALLOWED_ORIGINS',
    'https://a.example.com/',
    'parameter CORS_ALLOWED_ORIGINS: "https://a.example.com/" is not an origin',
  ],
])('reports the parameter %s with the value %j', async (name, value, expected) => {
  const { [name as keyof typeof PARAMETERS]: _replaced, ...others } = PARAMETERS;
  const findings = await check({ parameters: value === undefined ? others : { ...others, [name]: value } });
  expect(listProblems(findings)).toEqual([expect.stringContaining(expected)]);
});

/** Replaces the response whose path ends so. */
function override(suffix: string, respond: Responses[string]): void {
  const names = Object.keys(READY).filter((name) => name.endsWith(suffix));
  expect(names).toHaveLength(1);
  for (const name of names) responses[name] = respond;
}

test('what the APIs do not tell is unknown, with the reason, and not missing', async () => {
  status = 403;
  const findings = await check();
  expect(findings.filter(({ kind }) => kind === 'missing')).toEqual([]);
  expect(listProblems(findings)).toContain('secret API_KEY: secretmanager.googleapis.com returned 403: stub');
});

test('without a connection every remote point is unknown, and the exit code says so', async () => {
  writeFileSync(PARAMETERS_FILE, 'CORS_ALLOWED_ORIGINS=\nMIN_INSTANCES=0\nMAX_INSTANCES=20\n');
  const { code, stdout } = await runCommand(['--project', PROJECT_ID], {
    // The system gives this port to nobody.
    GOOGLE_API_ENDPOINT: 'http://127.0.0.1:2',
  });
  expect(code).toBe(2);
  expect(stdout).toMatch(
    /^Could not be checked \(6\): firestore\.googleapis\.com: .*ECONNREFUSED.*\n {2}database \(default\)$/m,
  );
});

test('without credentials it says so first, and lists what is unknown under one reason', async () => {
  const { code, stdout, stderr } = await runCommand(['--project', PROJECT_ID], {
    CLOUDSDK_AUTH_ACCESS_TOKEN: undefined,
    GOOGLE_APPLICATION_CREDENTIALS: '/nowhere',
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^No Google credentials: .*gcloud auth application-default login\n/);
  expect(stdout).toMatch(/^Missing \(3\)\n/);
  expect(stdout.match(/Could not be checked/g)).toHaveLength(1);
  expect(stdout).toContain(': no credentials\n');
  expect(requests).toEqual([]);
});

test('--help prints what the command does, with its exit codes', async () => {
  const { code, stdout, stderr } = await runCommand(['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Exit code: 0');
});

test.each([
  [[], '--project is missing'],
  [['--project', 'x'], '--project x: a project id has 6 to 30'],
  [['--project', 'a/b'], '--project a/b: a project id has 6 to 30'],
  [['--bogus'], "Unknown option '--bogus'"],
])('wrong usage %j says what is wrong, and shows the usage', async (args, problem) => {
  const { code, stdout, stderr } = await runCommand(args);
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  expect(stderr.startsWith(problem)).toBe(true);
  expect(stderr).toContain('Usage: npm run deploy:check -- --project <project> [--json]\n');
  expect(requests).toEqual([]);
});
