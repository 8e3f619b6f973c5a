import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runChecks, type Finding } from '../check/checks';
import type { Deployment } from '../check/deployment';
import { createGoogleClient, type AskGoogle } from '../check/google-api';
import { readDeployManifest } from '../check/manifest';
import { runProgram } from '../../dev/run/programs';
import indexDefinitions from '../../firestore.indexes.json';
import { REGION } from '../../functions/src/lib/region';
import { DEPLOY_PACKAGE } from '../../dev/run/deployed';

const PROJECT_ID = 'deploy-check-test';
const PARAMETERS = {
  CORS_ALLOWED_ORIGINS: 'https://dashboard.example.com',
  DATABASE_ID: '(default)',
  WRITES_PAUSED: 'false',
  MIN_INSTANCES: '0',
  MAX_INSTANCES: '20',
};
const PARAMETERS_FILE = `functions/.env.${PROJECT_ID}`;

const PATH = `v1/projects/${PROJECT_ID}`;
const READER = `organisation-data-reader@${PROJECT_ID}.iam.gserviceaccount.com`;
const WRITER = `price-lists-writer@${PROJECT_ID}.iam.gserviceaccount.com`;

const RULES = readFileSync('firestore.rules', 'utf8');
const RULESET = `v1/projects/${PROJECT_ID}/rulesets/1`;
const rulesetOf = (content: string) => ({ source: { files: [{ content }] } });

type Grant = [role: string, member: string];
const ROLES: Grant[] = [
  ['roles/datastore.viewer', `serviceAccount:${READER}`],
  ['roles/datastore.user', `serviceAccount:${WRITER}`],
];
const policyOf = (...grants: Grant[]) => ({ bindings: grants.map(([role, member]) => ({ role, members: [member] })) });

const database = (id: string) => `firestore ${PATH}/databases/${id}`;
const indexes = `${database('(default)')}/collectionGroups/-/indexes`;
const fields = `${database('(default)')}/collectionGroups/-/fields`;
const storedIndexes = indexDefinitions.indexes.map(({ collectionGroup, queryScope, fields }, index) => ({
  name: `projects/${PROJECT_ID}/databases/(default)/collectionGroups/${collectionGroup}/indexes/${index}`,
  queryScope,
  state: 'READY',
  fields: [...fields, { fieldPath: '__name__', order: 'ASCENDING' }],
}));
const storedFields = indexDefinitions.fieldOverrides.map(({ collectionGroup, fieldPath }) => ({
  name: `projects/${PROJECT_ID}/databases/(default)/collectionGroups/${collectionGroup}/fields/${fieldPath}`,
}));

/** The responses of the APIs, by API and path without the query. A path that is missing or undefined gets a 404. */
type Answers = Record<string, Record<string, unknown> | ((query: URLSearchParams) => object) | undefined>;

const NAMED_KEY = `acme:${'0'.repeat(64)}`;
const version = (id: string) => `secretmanager ${PATH}/secrets/API_KEY/versions/${id}`;
const secretOf = (text: string) => ({ payload: { data: Buffer.from(text).toString('base64') } });
const deployed = `cloudfunctions v2/projects/${PROJECT_ID}/locations/${REGION}/functions`;
const policy = `cloudresourcemanager ${PATH}:getIamPolicy`;

/** A project that has everything. */
const READY: Answers = {
  [deployed]: {},
  [policy]: policyOf(...ROLES),
  [database('(default)')]: { type: 'FIRESTORE_NATIVE' },
  [indexes]: { indexes: storedIndexes },
  [fields]: { fields: storedFields },
  [`firebaserules ${PATH}/releases/cloud.firestore`]: { rulesetName: RULESET.slice(3) },
  [`firebaserules ${RULESET}`]: rulesetOf(`// ours\n${RULES}`),
  [`iam ${PATH}/serviceAccounts/${READER}`]: {},
  [`iam ${PATH}/serviceAccounts/${WRITER}`]: {},
  [`${version('latest')}:access`]: secretOf(`# Acme GmbH\n${NAMED_KEY}\n`),
};

function answer(answers: Answers, api: string, pathAndQuery: string): object | undefined {
  const [path = '', query] = pathAndQuery.split('?');
  const found = answers[`${api} ${path}`];
  return typeof found === 'function' ? found(new URLSearchParams(query)) : found;
}

let deployment: Deployment;

beforeAll(async () => {
  deployment = {
    projectId: PROJECT_ID,
    manifest: await readDeployManifest(DEPLOY_PACKAGE),
    indexes: indexDefinitions,
    firestoreDatabase: '(default)',
    rules: RULES,
    parameters: PARAMETERS,
    invalidLines: [],
    keepRules: false,
  };
});

/** Lists what is missing, unknown or gets a warning in a project that has everything except for these changes. */
async function listProblems(changes: Answers, deploymentChanges: Partial<Deployment> = {}): Promise<Finding[]> {
  const ask = (api: string, path: string) => Promise.resolve(answer({ ...READY, ...changes }, api, path));
  const findings = await runChecks({ ...deployment, ...deploymentChanges }, ask as AskGoogle);
  return findings.filter(({ kind }) => kind !== 'ok');
}

const OF_PROJECT = `--project ${PROJECT_ID}`;
const DEPLOY_INDEXES = `firebase deploy --only firestore:indexes ${OF_PROJECT}`;
const SET_KEYS = `firebase functions:secrets:set API_KEY --data-file keys.txt ${OF_PROJECT}`;
const ROTATE = 'docs/deployment.md, section "Key rotation"';
const FIRST_INDEX = 'index orders (COLLECTION), team_id ASCENDING, created_at ASCENDING';

const parameters = (changes: Record<string, string>, missing = '') => {
  const all = Object.entries({ ...PARAMETERS, ...changes });
  return { parameters: Object.fromEntries(all.filter(([name]) => name !== missing)) };
};
const newestKeys = (text: string): Answers => ({ [`${version('latest')}:access`]: secretOf(text) });

/** A project in which a function, on the second page of the list of functions, uses version 3 of a secret. */
const deployedWithKeys = (text: string, { secret = 'API_KEY', state = 'ENABLED' } = {}): Answers => ({
  [deployed]: (query) =>
    query.get('pageToken') === 'page 2'
      ? { functions: [{ serviceConfig: { secretEnvironmentVariables: [{ secret, version: '3' }] } }] }
      : { functions: [{}], nextPageToken: 'page 2' },
  [version('3')]: { state },
  [`${version('3')}:access`]: secretOf(text),
});

const firstIndexIs = (state: string): Answers => ({
  [indexes]: { indexes: storedIndexes.map((index, i) => (i === 0 ? { ...index, state } : index)) },
});

type Row = [subject: string, detail: string, fix: string, answers: Answers, deployment?: Partial<Deployment>];

/** Problems that stop a deployment. In each row, everything else in the project is valid. */
const MISSING: Row[] = [
  ...(
    [
      ['CORS_ALLOWED_ORIGINS', { CORS_ALLOWED_ORIGINS: 'https://a.example.com/' }, 'is not an origin'],
      ['DATABASE_ID', { DATABASE_ID: 'Restored' }, 'Restored is not the id of a database'],
      ['MAX_INSTANCES', { MAX_INSTANCES: '0' }, '0 would be no maximum at all'],
      ['MIN_INSTANCES', { MIN_INSTANCES: 'many' }, 'many is not a number'],
      ['MIN_INSTANCES', { MIN_INSTANCES: '6', MAX_INSTANCES: '5' }, '6 is above MAX_INSTANCES, 5'],
      ['WRITES_PAUSED', { WRITES_PAUSED: 'false ' }, '"false " is not true or false'],
    ] as const
  ).map(([name, changes, detail]): Row => {
    return [`parameter ${name}`, detail, `edit ${PARAMETERS_FILE}`, {}, parameters(changes)];
  }),
  [
    'lines of the parameters',
    '.env:2, .env:4: not NAME=value',
    'write each',
    {},
    { invalidLines: ['.env:2', '.env:4'] },
  ],
  ['database of the indexes', 'deploys them to other', 'set "database" in', {}, { firestoreDatabase: 'other' }],
  [
    'parameter MAX_INSTANCES',
    `not in ${PARAMETERS_FILE}`,
    `echo 'MAX_INSTANCES=20' >> `,
    {},
    parameters({}, 'MAX_INSTANCES'),
  ],
  ['database (default)', 'not found', 'gcloud firestore databases create ', { [database('(default)')]: undefined }],
  [
    'database (default)',
    'its type is DATASTORE_MODE',
    `gcloud firestore databases update --database='(default)' --type=firestore-native ${OF_PROJECT}`,
    { [database('(default)')]: { type: 'DATASTORE_MODE' } },
  ],
  ['API keys in the secret', 'the service would ignore line 2, 3', SET_KEYS, newestKeys(`${NAMED_KEY}\na b\nc:d`)],
  ['API keys in the secret', 'there is none', SET_KEYS, newestKeys('# none\n')],
  ['API keys in the secret', 'there is no secret API_KEY', SET_KEYS, { [`${version('latest')}:access`]: undefined }],
  [
    'service account organisation-data-reader',
    'not found',
    `gcloud iam service-accounts create organisation-data-reader ${OF_PROJECT}`,
    { [`iam ${PATH}/serviceAccounts/${READER}`]: undefined },
  ],
  [
    'service account price-lists-writer',
    'disabled',
    `gcloud iam service-accounts enable ${WRITER} ${OF_PROJECT}`,
    { [`iam ${PATH}/serviceAccounts/${WRITER}`]: { disabled: true } },
  ],
  ...ROLES.map(([role, member]): Row => [
    `role of ${/:(.*)@/.exec(member)?.[1]}`,
    `lacks ${role}`,
    `gcloud projects add-iam-policy-binding ${PROJECT_ID} --condition=None --member=${member} --role=${role}`,
    { [policy]: policyOf(...ROLES.filter(([each]) => each !== role)) },
  ]),
  [FIRST_INDEX, 'not found', DEPLOY_INDEXES, { [indexes]: { indexes: storedIndexes.slice(1) } }],
  [FIRST_INDEX, 'being built', 'wait, and run this command again', firstIndexIs('CREATING')],
  [
    FIRST_INDEX,
    'NEEDS_REPAIR',
    `gcloud firestore indexes composite delete 0 --database='(default)' ${OF_PROJECT} && ${DEPLOY_INDEXES}`,
    firstIndexIs('NEEDS_REPAIR'),
  ],
  [
    'index exemptions',
    'price_list_payload/fields/data',
    DEPLOY_INDEXES,
    { [fields]: { fields: storedFields.filter(({ name }) => !name.endsWith('/price_list_payload/fields/data')) } },
  ],
  [
    'rules of database (default)',
    'differ from firestore.rules, which refuse every client',
    `in a project of its own, replace them: firebase deploy --only firestore:rules ${OF_PROJECT}\n      in a shared project, keep them if `,
    { [`firebaserules ${RULESET}`]: rulesetOf(RULES.replace('false', 'true')) },
  ],
  ...['allUsers', 'allAuthenticatedUsers'].map((member): Row => [
    'public members',
    `${member} has roles/datastore.viewer in the whole project`,
    `gcloud projects remove-iam-policy-binding ${PROJECT_ID} --member=${member} --role=roles/datastore.viewer`,
    { [policy]: policyOf(...ROLES, ['roles/datastore.viewer', member]) },
  ]),
];

/** What stops no deployment. */
const WARNINGS: Row[] = [
  ...ROLES.map(([role, member]): Row => [
    `least role of ${/:(.*)@/.exec(member)?.[1]}`,
    `has roles/storage.admin; ${role} is enough`,
    `if nothing else needs it: gcloud projects remove-iam-policy-binding ${PROJECT_ID} --condition=None --member=${member} --role=roles/storage.admin`,
    { [policy]: policyOf(...ROLES, ['roles/storage.admin', member]) },
  ]),
  [
    'API keys as digests',
    'plain keys: 2, with fewer than 20 characters: 1',
    `replace them by names with digests: ${ROTATE}`,
    newestKeys(`${NAMED_KEY}\n0123456789abcdefghij\n0123456789abcdefghi`),
  ],
  [
    'names of the API keys',
    'deployed, but not in the newest version: old-1, old-2',
    ROTATE,
    deployedWithKeys(['old-1', 'acme', 'old-2'].map((name) => `${name}:${'1'.repeat(64)}`).join('\n')),
  ],
  [
    'names of the API keys',
    'on several lines: acme',
    ROTATE,
    newestKeys(`${NAMED_KEY}\nacme:${'1'.repeat(64)}\nother:${'1'.repeat(64)}`),
  ],
  ['pause of price lists', 'WRITES_PAUSED is true', 'after the restore', {}, parameters({ WRITES_PAUSED: 'true' })],
];

const ROWS = [MISSING, WARNINGS].flatMap((rows, i) =>
  rows.map((row): [kind: string, ...Row] => [i === 0 ? 'missing' : 'warning', ...row]),
);

test.each(ROWS)('%s: %s: %s', async (kind, subject, detail, fix, answers, changes = {}) => {
  const texts = { detail: expect.stringContaining(detail) as string, fix: expect.stringContaining(fix) as string };
  expect(await listProblems(answers, changes)).toEqual([{ subject, kind, ...texts }]);
});

test.each<[string, Answers, Partial<Deployment>?]>([
  [
    'whose functions use another database',
    {
      ...Object.fromEntries(
        [database('(default)'), indexes, fields].map((path) => [path.replace('(default)', 'restored'), READY[path]]),
      ),
      [database('(default)')]: undefined,
      [indexes]: undefined,
      [fields]: undefined,
    },
    { ...parameters({ DATABASE_ID: 'restored' }), firestoreDatabase: 'restored' },
  ],
  [
    'without rules, where Firestore refuses every client',
    { [`firebaserules ${PATH}/releases/cloud.firestore`]: undefined },
  ],
  ['that keeps its own rules', { [`firebaserules ${RULESET}`]: rulesetOf('allow read;') }, { keepRules: true }],
  ['whose deployed API keys are the newest', deployedWithKeys(NAMED_KEY)],
  ['whose deployed version of the API keys is destroyed', deployedWithKeys('an-old-key', { state: 'DESTROYED' })],
  ['with functions that have another secret', deployedWithKeys('another-secret', { secret: 'OTHER' })],
])('nothing is missing in a project %s', async (...[, answers, changes]) => {
  expect(await listProblems(answers, changes)).toEqual([]);
});

describe('the command', () => {
  let server: Server;
  let endpoint: string;
  let answers: Answers;
  let requests: string[];
  let authorizations: Set<string | undefined>;
  let isCutOff: boolean;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { method = '', url = '' } = request;
      const [, api = '', path = ''] = /^\/(\w+)\.googleapis\.com\/(.*)$/.exec(url) ?? [];
      requests.push(`${method} ${url}`);
      authorizations.add(request.headers.authorization);
      const found = answer(answers, api, path);
      response.statusCode = found === undefined ? 404 : 200;
      if (isCutOff) return void response.write('{', () => response.destroy());
      response.end(JSON.stringify(found ?? { error: { message: 'stub' } }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  beforeEach(() => {
    answers = READY;
    requests = [];
    authorizations = new Set();
    isCutOff = false;
  });

  afterEach(() => rmSync(PARAMETERS_FILE, { force: true }));

  afterAll(() => void server.close());

  const runCommand = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    runProgram(process.execPath, ['--import', 'tsx', 'deploy/deploy-check.ts', ...args], {
      env: { GOOGLE_API_ENDPOINT: endpoint, CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token', ...env },
    }).then(
      (output) => ({ code: 0, ...output }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );

  const writeParameters = () =>
    writeFileSync(
      PARAMETERS_FILE,
      Object.entries(PARAMETERS)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );

  test('passes a project that has everything, and sends only requests that change nothing', async () => {
    writeParameters();
    const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
    expect(stdout).toMatch(/^There \(\d+\)\n/);
    expect(code).toBe(0);
    const reads = /^GET |^POST [^?]+:getIamPolicy$/;
    for (const request of requests) expect(request).toMatch(reads);
    expect(authorizations).toEqual(new Set(['Bearer a-token']));
  });

  test('lists what an empty project lacks', async () => {
    answers = {};
    const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Missing \(\d+\)\n {2}parameter .+\n {6}echo /);
    expect(stdout).toContain('\n  database (default): not found\n      gcloud firestore databases create ');
    expect(stdout).not.toContain('Could not be checked');
  });

  test('what the API did not send completely is unknown, and not missing', async () => {
    isCutOff = true;
    const findings = await runChecks(deployment, createGoogleClient(PROJECT_ID, 'a-token', endpoint));
    expect(findings.filter(({ kind }) => kind === 'missing')).toEqual([]);
    const detail = expect.stringMatching(/^secretmanager\.googleapis\.com: ./) as string;
    expect(findings).toContainEqual({ subject: 'API keys in the secret', kind: 'unknown', detail });
  });

  test('says that it has no credentials, and lists everything unknown under one reason', async () => {
    writeParameters();
    const { code, stdout, stderr } = await runCommand(['--project', PROJECT_ID], {
      CLOUDSDK_AUTH_ACCESS_TOKEN: undefined,
      GOOGLE_APPLICATION_CREDENTIALS: '/nowhere',
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^No Google credentials: .*gcloud auth application-default login\n/);
    expect(stdout).toMatch(/^Could not be checked \(\d+\): no credentials\n/);
    expect(stdout.match(/Could not be checked/g)).toHaveLength(1);
    expect(requests).toEqual([]);
  });

  test.each([
    [[], '--project is missing'],
    [['--project', 'a/b'], '--project a/b: a project id has 6 to 30'],
  ])('says what is wrong with %j, and shows the usage', async (args, problem) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.startsWith(problem)).toBe(true);
    expect(stderr).toContain('Usage: npm run deploy:check -- --project <project> [--keep-rules]\n');
    expect(requests).toEqual([]);
  });
});
