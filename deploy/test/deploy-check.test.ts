import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runChecks, type Finding } from '../check/checks';
import type { Deployment } from '../check/deployment';
import { createGoogleClient, parseAnswer, readEndpoint, type AskGoogle } from '../check/google-api';
import { readDeployManifest } from '../check/manifest';
import { runProgram } from '../../dev/run/programs';
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

/** The responses of the APIs, by API and path without the query. A path that is missing or undefined gets a 404. */
type Answers = Record<string, Record<string, unknown> | ((query: URLSearchParams) => object) | undefined>;

const NAMED_KEY = `acme:${'0'.repeat(64)}`;
const version = (id: string) => `secretmanager ${PATH}/secrets/API_KEY/versions/${id}`;
const secretOf = (text: string) => ({ payload: { data: Buffer.from(text).toString('base64') } });
const deployed = `cloudfunctions v2/projects/${PROJECT_ID}/locations/${REGION}/functions`;

/** A project with valid API keys, and without functions. */
const READY: Answers = {
  [deployed]: {},
  [version('latest')]: { name: 'projects/1/secrets/API_KEY/versions/7', state: 'ENABLED' },
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
    firestoreDatabase: '(default)',
    parameters: PARAMETERS,
    invalidLines: [],
  };
});

/** Returns the findings that are not `ok` for a project that is ready except for these changes. */
async function listProblems(changes: Answers, deploymentChanges: Partial<Deployment> = {}): Promise<Finding[]> {
  const ask: AskGoogle = async (api, path, schema) => {
    const found = await Promise.resolve(answer({ ...READY, ...changes }, api, path));
    return found && parseAnswer(api, JSON.stringify(found), schema);
  };
  const findings = await runChecks({ ...deployment, ...deploymentChanges }, ask);
  return findings.filter(({ kind }) => kind !== 'ok');
}

const OF_PROJECT = `--project ${PROJECT_ID}`;
const SET_KEYS = `firebase functions:secrets:set API_KEY --data-file keys.txt ${OF_PROJECT}`;
const ROTATE = 'docs/deployment.md, section "API key rotation"';

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

type Row = [subject: string, detail: string, fix: string, answers: Answers, deployment?: Partial<Deployment>];

/** Problems that stop a deployment. In each row, everything else in the project is valid. */
const MISSING: Row[] = [
  ...(
    [
      ['CORS_ALLOWED_ORIGINS', { CORS_ALLOWED_ORIGINS: 'https://a.example.com/' }, 'is not an origin'],
      ['DATABASE_ID', { DATABASE_ID: 'Restored' }, '"Restored" is not the id of a database'],
      ['MAX_INSTANCES', { MAX_INSTANCES: '0' }, '0 would be no maximum at all'],
      ['MIN_INSTANCES', { MIN_INSTANCES: 'many' }, '"many" is not a whole number'],
      ['MIN_INSTANCES', { MIN_INSTANCES: '6', MAX_INSTANCES: '5' }, '6 is above MAX_INSTANCES, 5'],
      ['WRITES_PAUSED', { WRITES_PAUSED: 'false ' }, '"false " is not true or false'],
    ] as const
  ).map(([name, changes, detail]): Row => {
    return [`parameter ${name}`, detail, `correct it in functions/.env or ${PARAMETERS_FILE}`, {}, parameters(changes)];
  }),
  [
    'lines of the parameters',
    '.env:2, .env:4: not NAME=value',
    'write each',
    {},
    { invalidLines: ['.env:2', '.env:4'] },
  ],
  ['names of the parameters', 'MAX_INSTANCE: not a', 'correct the name', {}, parameters({ MAX_INSTANCE: '5' })],
  ['names of the parameters', 'API_KEY: not a', 'secret API_KEY', {}, parameters({ API_KEY: '' })],
  ['database of the indexes', 'deploys the indexes to other', 'set "database" in', {}, { firestoreDatabase: 'other' }],
  [
    'parameter MAX_INSTANCES',
    `not in ${PARAMETERS_FILE}`,
    `printf '\\n%s\\n' 'MAX_INSTANCES=20' >> `,
    {},
    parameters({}, 'MAX_INSTANCES'),
  ],
  [
    'API keys in the secret',
    'the service would ignore these lines: 2, 3',
    SET_KEYS,
    newestKeys(`${NAMED_KEY}\na b\nc:d`),
  ],
  [
    'API keys in the secret',
    'version 7 is DISABLED',
    'gcloud secrets versions enable 7 --secret=API_KEY',
    { [version('latest')]: { name: 'projects/1/secrets/API_KEY/versions/7', state: 'DISABLED' } },
  ],
  [
    'API keys in the secret',
    'version 7 is DESTROYED',
    'take the newest enabled version as the base',
    { [version('latest')]: { name: 'projects/1/secrets/API_KEY/versions/7', state: 'DESTROYED' } },
  ],
  ['API keys in the secret', 'there are none', SET_KEYS, newestKeys('# none\n')],
  [
    'API keys in the secret',
    'there is no version of the secret API_KEY',
    SET_KEYS,
    { [`${version('latest')}:access`]: undefined },
  ],
];

/** Warnings, which stop no deployment. */
const WARNINGS: Row[] = [
  ...(['DISABLED', 'DESTROYED'] as const).map((state): Row => [
    'names of the API keys',
    `version 3 is ${state}, but functions are deployed with it, so their instances cannot start`,
    state === 'DISABLED' ? 'gcloud secrets versions enable 3 --secret=API_KEY' : 'take the newest enabled version',
    deployedWithKeys('an-old-key', { state }),
  ]),
  [
    'API keys as digests',
    'plain API keys: 2, with fewer than 20 characters: 1',
    `replace each with a name and a digest: ${ROTATE}`,
    newestKeys(`${NAMED_KEY}\n0123456789abcdefghij\n0123456789abcdefghi`),
  ],
  [
    'names of the API keys',
    'deployed, but not found in the newest version: old-1, old-2',
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

test.each(ROWS)('deploy:check reports as %s: %s: %s', async (kind, subject, detail, fix, answers, changes = {}) => {
  const texts = { detail: expect.stringContaining(detail) as string, fix: expect.stringContaining(fix) as string };
  expect(await listProblems(answers, changes)).toEqual([{ subject, kind, ...texts }]);
});

test.each<[string, Answers, Partial<Deployment>?]>([
  [
    'whose functions use another database',
    {},
    { ...parameters({ DATABASE_ID: 'restored' }), firestoreDatabase: 'restored' },
  ],
  ['whose deployed API keys are the newest', deployedWithKeys(NAMED_KEY)],
  ['with functions that have another secret', deployedWithKeys('another-secret', { secret: 'OTHER' })],
])('no problem is found in a project %s', async (...[, answers, changes]) => {
  expect(await listProblems(answers, changes)).toEqual([]);
});

test.each<[string, Answers]>([
  ['no object', { [`${version('latest')}:access`]: [] as unknown as Record<string, unknown> }],
  ['of another form', { [`${version('latest')}:access`]: { payload: 'text' } }],
  ['a version without a state', { [version('latest')]: {} }],
  ['an object instead of a list of functions', { [deployed]: { functions: {} } }],
  [
    'a function without its secret',
    { [deployed]: { functions: [{ serviceConfig: { secretEnvironmentVariables: [{}] } }] } },
  ],
])('an answer of Google that is %s is reported as unknown', async (_, answers) => {
  const problems = await listProblems(answers);
  expect(problems.length).toBeGreaterThan(0);
  const detail = expect.stringMatching(/^the answer of .+ cannot be read$/) as string;
  for (const problem of problems) expect(problem).toMatchObject({ kind: 'unknown', detail });
});

test.each(['https://proxy.example.com', 'http://127.0.0.1.example.com:1', 'http://localhost:1', ''])(
  'GOOGLE_API_ENDPOINT=%s is refused',
  (endpoint) => {
    expect(() => readEndpoint({ GOOGLE_API_ENDPOINT: endpoint })).toThrow('http://127.0.0.1:<port>');
  },
);

describe('deploy:check', () => {
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

  test('passes a project whose API keys and parameters are valid, and sends only requests that change nothing', async () => {
    writeParameters();
    const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
    expect(stdout).toMatch(/^Valid \(\d+\)\n/);
    expect(stdout).toContain('  API keys in the secret: acme\n');
    expect(code).toBe(0);
    for (const request of requests) expect(request).toMatch(/^GET /);
    expect(authorizations).toEqual(new Set(['Bearer a-token']));
  });

  test('lists what an empty project lacks', async () => {
    answers = {};
    const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^To correct \(\d+\)\n {2}parameter .+\n {6}printf /);
    expect(stdout).toContain(
      '\n  API keys in the secret: there is no version of the secret API_KEY\n      firebase functions:secrets:set ',
    );
    expect(stdout).not.toContain('Could not be checked');
  });

  test('reports as unknown, and not as missing, what the API did not send completely', async () => {
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
    expect(stderr).toMatch(/^No usable Google credentials: .*gcloud auth application-default login\n/);
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
    expect(stderr).toContain('Usage: npm run deploy:check -- --project <project>\n');
    expect(requests).toEqual([]);
  });
});
