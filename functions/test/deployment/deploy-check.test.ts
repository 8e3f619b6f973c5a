import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { runChecks, type Finding } from '../../../scripts/deploy/checks';
import type { Deployment } from '../../../scripts/deploy/deployment';
import { createGoogleClient, type AskGoogle } from '../../../scripts/deploy/google-api';
import { readDeployManifest } from '../../../scripts/deploy/manifest';
import { runProgram } from '../../../test/support/programs';
import indexDefinitions from '../../../firestore.indexes.json';
import * as functions from '../../src';
import { sha256 } from '../../src/lib/api-keys';
import { REGION } from '../../src/lib/region';
import { operationNames } from '../support/operations';
import { DEPLOY_PACKAGE } from './deployed';

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
const LOCATION = `locations/${REGION}`;
const emailOf = (name: string) => `${name}@${PROJECT_ID}.iam.gserviceaccount.com`;
const READER = emailOf('organisation-data-reader');
const WRITER = emailOf('price-lists-writer');
const DEPLOYER = emailOf('deployer');
const AUDITOR = emailOf('auditor');
const BUILDER = '1-compute@developer.gserviceaccount.com';
const APP_ENGINE = `${PROJECT_ID}@appspot.gserviceaccount.com`;

const RULES = readFileSync('firestore.rules', 'utf8');
const RELEASE = `projects/${PROJECT_ID}/rulesets/1`;

const ROLES: [role: string, email: string][] = [
  ['roles/datastore.viewer', READER],
  ['roles/datastore.user', WRITER],
  ['roles/cloudbuild.builds.builder', BUILDER],
];

const policyOf = (grants: [role: string, member: string][]) => ({
  bindings: grants.map(([role, member]) => ({ role, members: [member] })),
});
const projectPolicyOf = (grants: typeof ROLES) =>
  policyOf(grants.map(([role, email]) => [role, `serviceAccount:${email}`]));

const POOL = 'locations/global/workloadIdentityPools/github';
const memberOf = (rest: string) => `principalSet://iam.googleapis.com/projects/1/${POOL}/${rest}`;
const ACTS_AS = 'roles/iam.workloadIdentityUser';
const CONDITION =
  "assertion.repository_owner_id == '12' && assertion.repository_id == '34' && assertion.environment in ['production', 'audit']";
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
const storedFields = (fields: typeof indexDefinitions.fieldOverrides) => ({
  fields: fields.map(({ collectionGroup, fieldPath }) => ({
    name: `projects/${PROJECT_ID}/databases/(default)/collectionGroups/${collectionGroup}/fields/${fieldPath}`,
  })),
});

interface Permissions {
  permissions: string[];
}

/** The responses of the APIs, by API and path without the query. A path that is missing or undefined gets a 404. */
type Answers = Record<string, Record<string, unknown> | Respond | undefined>;
type Respond = (body: Permissions, query: URLSearchParams) => object;

const without =
  (...lacking: string[]) =>
  ({ permissions }: Permissions) => ({
    permissions: permissions.filter((permission) => !lacking.includes(permission)),
  });

const servicesWithout =
  (...disabled: string[]) =>
  (_: unknown, query: URLSearchParams) => ({
    services: query
      .getAll('names')
      .map((name) => ({ name, state: disabled.some((each) => name.endsWith(each)) ? 'DISABLED' : 'ENABLED' })),
  });

const NAMED_KEY = `acme:${'0'.repeat(64)}`;

const secretOf = (text: string) => ({ payload: { data: Buffer.from(text).toString('base64') } });

const NOT_FOR_DEPLOYER = ['datastore.entities.get', 'resourcemanager.projects.setIamPolicy'];
const ANCESTRY = {
  ancestor: [{ resourceId: { type: 'project', id: PROJECT_ID } }, { resourceId: { type: 'organization', id: '12' } }],
};
const organisation = 'cloudresourcemanager v3/organizations/12:getIamPolicy';

/** A project that has everything. */
const READY: Answers = {
  [`artifactregistry ${PATH}/${LOCATION}/repositories/gcf-artifacts`]: { cleanupPolicies: { old: {} } },
  [`cloudbilling ${PATH}/billingInfo`]: { billingEnabled: true },
  [`cloudbuild ${PATH}/${LOCATION}/defaultServiceAccount`]: {
    serviceAccountEmail: `projects/${PROJECT_ID}/serviceAccounts/${BUILDER}`,
  },
  [`cloudfunctions v2/projects/${PROJECT_ID}/${LOCATION}/functions`]: {},
  [`cloudresourcemanager ${PATH}`]: { lifecycleState: 'ACTIVE', projectNumber: '1' },
  [`cloudresourcemanager ${PATH}:getEffectiveOrgPolicy`]: { listPolicy: { allValues: 'ALLOW' } },
  [`cloudresourcemanager ${PATH}:getIamPolicy`]: projectPolicyOf(ROLES),
  [`cloudresourcemanager ${PATH}:getAncestry`]: ANCESTRY,
  [`cloudresourcemanager ${PATH}:testIamPermissions`]: without(...NOT_FOR_DEPLOYER),
  [`firebase v1beta1/projects/${PROJECT_ID}/adminSdkConfig`]: { projectId: PROJECT_ID },
  [`firestore ${PATH}/databases/(default)`]: { type: 'FIRESTORE_NATIVE' },
  [`firestore ${PATH}/databases/(default)/collectionGroups/-/fields`]: storedFields(indexDefinitions.fieldOverrides),
  [`firestore ${PATH}/databases/(default)/collectionGroups/-/indexes`]: storedIndexes('READY'),
  [`firebaserules ${PATH}/releases/cloud.firestore`]: { rulesetName: RELEASE },
  [`firebaserules v1/${RELEASE}`]: { source: { files: [{ content: `// ours\n${RULES}` }] } },
  [`iam ${PATH}/${POOL}/providers`]: providersOf(CONDITION),
  [`iam ${PATH}/serviceAccounts`]: { accounts: [DEPLOYER, AUDITOR, WRITER].map((email) => ({ email })) },
  [`iam ${PATH}/serviceAccounts/${AUDITOR}:getIamPolicy`]: policyOf([
    [ACTS_AS, memberOf('attribute.environment/audit')],
  ]),
  [`iam ${PATH}/serviceAccounts/${BUILDER}`]: {},
  [`iam ${PATH}/serviceAccounts/${DEPLOYER}:getIamPolicy`]: policyOf([
    [ACTS_AS, memberOf('attribute.environment/production')],
  ]),
  [`iam ${PATH}/serviceAccounts/${READER}`]: {},
  [`iam ${PATH}/serviceAccounts/${READER}:testIamPermissions`]: without(),
  [`iam ${PATH}/serviceAccounts/${WRITER}`]: {},
  [`iam ${PATH}/serviceAccounts/${WRITER}:getIamPolicy`]: {},
  [`iam ${PATH}/serviceAccounts/${WRITER}:testIamPermissions`]: without(),
  [`secretmanager ${PATH}/secrets/API_KEY/versions/latest`]: { state: 'ENABLED' },
  [`secretmanager ${PATH}/secrets/API_KEY/versions/latest:access`]: secretOf(`# Acme GmbH\n${NAMED_KEY}\n`),
  [`secretmanager ${PATH}/secrets/API_KEY:testIamPermissions`]: without(),
  [`serviceusage ${PATH}/services:batchGet`]: servicesWithout(),
};

function answer(answers: Answers, api: string, pathAndQuery: string, body: unknown): object | undefined {
  const [path = '', query] = pathAndQuery.split('?');
  const found = answers[`${api} ${path}`];
  return typeof found === 'function' ? found(body as Permissions, new URLSearchParams(query)) : found;
}

let deployment: Deployment;

beforeAll(async () => {
  const manifest = await readDeployManifest(DEPLOY_PACKAGE);
  deployment = {
    projectId: PROJECT_ID,
    manifest,
    indexes: indexDefinitions,
    firestoreDatabase: '(default)',
    rules: RULES,
    parameters: PARAMETERS,
    invalidLines: [],
    keepRules: false,
  };
});

const check = (changes: Answers = {}, deploymentChanges: Partial<Deployment> = {}): Promise<Finding[]> => {
  const ask = (api: string, path: string, body?: object) =>
    Promise.resolve(answer({ ...READY, ...changes }, api, path, body));
  return runChecks({ ...deployment, ...deploymentChanges }, ask as AskGoogle);
};

const listProblems = (findings: Finding[]) => findings.filter((finding) => finding.kind !== 'ok');

const OF_PROJECT = `--project ${PROJECT_ID}`;
const grant = (email: string, role: string) =>
  `gcloud projects add-iam-policy-binding ${PROJECT_ID} --condition=None --member=serviceAccount:${email} --role=${role}`;
const grantDeployer = (role: string) =>
  `gcloud projects add-iam-policy-binding ${PROJECT_ID} --condition=None --member=<deployer> --role=${role}`;
const SET_KEYS = `firebase functions:secrets:set API_KEY --data-file keys.txt ${OF_PROJECT}`;
const SET_POLICY = `firebase functions:artifacts:setpolicy --location ${REGION} --days 30 --force ${OF_PROJECT}`;
const UPDATE_PROVIDER = 'gcloud iam workload-identity-pools providers update-oidc github --location=global';

type Row = [subject: string, detail: string, fix: string, answers: Answers, deployment?: Partial<Deployment>];

const permissions = `cloudresourcemanager ${PATH}:testIamPermissions`;
const policy = `cloudresourcemanager ${PATH}:getIamPolicy`;
const policyWithout = (role: string) => ({ [policy]: projectPolicyOf(ROLES.filter(([each]) => each !== role)) });
const providers = `iam ${PATH}/${POOL}/providers`;
const repository = `artifactregistry ${PATH}/${LOCATION}/repositories/gcf-artifacts`;
const database = `firestore ${PATH}/databases/(default)`;
const deployed = `cloudfunctions v2/projects/${PROJECT_ID}/${LOCATION}/functions`;
const deployedFunction = (id: string, serviceAccountEmail: string, minInstanceCount = 1) => ({
  name: `projects/${PROJECT_ID}/${LOCATION}/functions/${id}`,
  serviceConfig: {
    service: `projects/${PROJECT_ID}/${LOCATION}/services/${id.toLowerCase()}`,
    serviceAccountEmail,
    minInstanceCount,
  },
});

/** Returns the answers for a project with all operations deployed, each with the given minimum of instances. */
const allDeployedWith = (minInstanceCount: number): Answers => ({
  [deployed]: {
    functions: operationNames.map((id) =>
      deployedFunction(id, functions[id].operation.writes ? WRITER : READER, minInstanceCount),
    ),
  },
});

/** Returns the answers for a project in which get teams is deployed with this traffic. */
const servingWith = (type: string, traffic: object): Answers => ({
  [deployed]: { functions: [deployedFunction('getTeams', READER)] },
  [`run v2/projects/${PROJECT_ID}/${LOCATION}/services/getteams`]: {
    traffic: [{ type: `TRAFFIC_TARGET_ALLOCATION_TYPE_${type}`, percent: 100, ...traffic }],
  },
});

const parameters = (changes: Record<string, string>) => ({ parameters: { ...PARAMETERS, ...changes } });

/** Returns the answers for a project in which get teams is deployed with version 3 of the secret. */
const deployedWithKeys = (text: string, state = 'ENABLED'): Answers => ({
  [deployed]: {
    functions: [
      {
        name: deployedFunction('getTeams', READER).name,
        serviceConfig: { secretEnvironmentVariables: [{ key: 'API_KEY', version: '3' }] },
      },
    ],
  },
  [`secretmanager ${PATH}/secrets/API_KEY/versions/3`]: { state },
  [`secretmanager ${PATH}/secrets/API_KEY/versions/3:access`]: secretOf(text),
});

/** Subjects whose problem is a warning. */
const WARNINGS = [
  'API keys as digests',
  'least role of App Engine',
  'least role of organisation-data-reader',
  'least role of the account that builds',
  'least roles of the deployer',
  'members that act as the accounts',
  'pause of price lists',
  'minimum of instances',
  'names of the API keys',
  'traffic',
];

/** What can be missing or wrong, at least one example of each kind. The tables of scripts/deploy have more of each. */
const ROWS: Row[] = [
  ...[
    ['CORS_ALLOWED_ORIGINS', 'https://a.example.com/', '"https://a.example.com/" is not an origin'],
    ['DATABASE_ID', 'Restored', 'Restored is not the id of a database'],
    ['MAX_INSTANCES', '0', '0 would be no maximum at all'],
    ['MIN_INSTANCES', 'many', 'many is not a number'],
    ['WRITES_PAUSED', 'True', '"True" is not true or false'],
    ['WRITES_PAUSED', 'false ', '"false " is not true or false'],
    ['CORS_ALLOWED_ORIGINS', 'https://${dashboard_host}', '"https://${dashboard_host}" is not an origin'],
  ].map(([name = '', value = '', detail = '']): Row => {
    return [`parameter ${name}`, detail, `edit ${PARAMETERS_FILE}`, {}, parameters({ [name]: value })];
  }),
  [
    'parameter MIN_INSTANCES',
    '6 is above MAX_INSTANCES, 5',
    `edit ${PARAMETERS_FILE}`,
    allDeployedWith(6),
    parameters({ MIN_INSTANCES: '6', MAX_INSTANCES: '5' }),
  ],
  [
    'lines of the parameters',
    `functions/.env:2, ${PARAMETERS_FILE}:1: not NAME=value`,
    'write each parameter as NAME=value on one line',
    {},
    { invalidLines: ['functions/.env:2', `${PARAMETERS_FILE}:1`] },
  ],
  [
    'database of the indexes',
    'firebase.json deploys them to other, the functions use (default)',
    'set "database" in firebase.json to "(default)"',
    {},
    { firestoreDatabase: 'other' },
  ],
  [
    'parameter MAX_INSTANCES',
    `not in ${PARAMETERS_FILE}`,
    `echo 'MAX_INSTANCES=20' >> ${PARAMETERS_FILE}`,
    {},
    { parameters: { CORS_ALLOWED_ORIGINS: '', DATABASE_ID: '(default)', WRITES_PAUSED: 'false', MIN_INSTANCES: '0' } },
  ],
  [
    'database (default)',
    'type is "DATASTORE_MODE"',
    `gcloud firestore databases update --database='(default)' --type=firestore-native ${OF_PROJECT}`,
    { [database]: { type: 'DATASTORE_MODE' } },
  ],
  [
    `service account ${READER}`,
    'not found',
    `gcloud iam service-accounts create organisation-data-reader ${OF_PROJECT}`,
    { [`iam ${PATH}/serviceAccounts/${READER}`]: undefined },
  ],
  [
    'services',
    'run.googleapis.com, cloudscheduler.googleapis.com',
    `gcloud services enable run.googleapis.com cloudscheduler.googleapis.com ${OF_PROJECT}`,
    {
      [`serviceusage ${PATH}/services:batchGet`]: servicesWithout(
        '/run.googleapis.com',
        '/cloudscheduler.googleapis.com',
      ),
    },
  ],
  [
    'clean-up policy of the images',
    'no repository gcf-artifacts',
    `gcloud artifacts repositories create gcf-artifacts --repository-format=docker --location=${REGION} ${OF_PROJECT} && ${SET_POLICY}`,
    { [repository]: undefined },
  ],
  ['clean-up policy of the images', 'not set', SET_POLICY, { [repository]: {} }],
  [
    'organisation policy',
    'constraints/iam.allowedPolicyMemberDomains forbids allUsers',
    'make the operations public without allUsers: docs/deployment.md, section "Public access"',
    { [`cloudresourcemanager ${PATH}:getEffectiveOrgPolicy`]: { listPolicy: { allowedValues: ['C01'] } } },
  ],
  [
    'organisation policy',
    'constraints/iam.managed.allowedPolicyMembers forbids allUsers',
    'make the operations public without allUsers: docs/deployment.md, section "Public access"',
    {
      [`orgpolicy v2/projects/${PROJECT_ID}/policies/iam.managed.allowedPolicyMembers:getEffectivePolicy`]: {
        spec: { rules: [{ enforce: true, parameters: { allowedMemberSubjects: ['serviceAccount:a'] } }] },
      },
    },
  ],
  [
    'minimum of instances',
    'rises to 1',
    'without a terminal deploy the functions once with --force; in the workflow tick "Raise MIN_INSTANCES"',
    {},
    parameters({ MIN_INSTANCES: '1' }),
  ],
  ...(
    [
      ['API keys in the secret', 'the service would ignore line 2, 3', `${NAMED_KEY}\na b\nc:d`, SET_KEYS],
      [
        'API keys in the secret',
        'the service would ignore line 2',
        `${NAMED_KEY}\nacme-2:${sha256('').toString('hex')}`,
        SET_KEYS,
      ],
      ['API keys in the secret', 'the service would ignore line 1', '0'.repeat(64), SET_KEYS],
      ['API keys in the secret', 'there is none', '# none\n', SET_KEYS],
      [
        'API keys as digests',
        'plain keys: 2, with fewer than 20 characters: 1',
        `${NAMED_KEY}\n0123456789abcdefghij\n0123456789abcdefghi`,
        'replace them by names with digests: docs/deployment.md, section "Key rotation"',
      ],
    ] as const
  ).map(([subject, detail, text, fix]): Row => [
    subject,
    detail,
    fix,
    { [`secretmanager ${PATH}/secrets/API_KEY/versions/latest:access`]: secretOf(text) },
  ]),
  [
    'names of the API keys',
    'deployed, but not in the newest version: old-1, old-2',
    'unless this is intended, correct the lines: docs/deployment.md, section "Key rotation"',
    deployedWithKeys(['old-1', 'acme', 'old-2'].map((name) => `${name}:${'1'.repeat(64)}`).join('\n')),
  ],
  [
    'names of the API keys',
    'on several lines: acme',
    'unless this is intended, correct the lines: docs/deployment.md, section "Key rotation"',
    {
      [`secretmanager ${PATH}/secrets/API_KEY/versions/latest:access`]: secretOf(
        `${NAMED_KEY}\nacme:${'1'.repeat(64)}\nother:${'1'.repeat(64)}`,
      ),
    },
  ],
  [
    'names of the functions',
    'getTeams runs as 1-compute@developer.gserviceaccount.com',
    'deploy to another project, or have the owner rename the function',
    { [deployed]: { functions: [deployedFunction('getTeams', BUILDER)] } },
  ],
  [
    'traffic',
    'getteams-00001-abc: the next deployment receives no traffic',
    `for service in getteams; do gcloud run services update-traffic $service --to-latest --region ${REGION} ${OF_PROJECT}; done`,
    servingWith('REVISION', { revision: 'getteams-00001-abc' }),
  ],
  [
    'rules of database (default)',
    'differ from firestore.rules, which refuse every client',
    `in a project of its own, replace them: firebase deploy --only firestore:rules ${OF_PROJECT}\n      in a shared project, keep them if `,
    { [`firebaserules v1/${RELEASE}`]: { source: { files: [{ content: RULES.replace('false', 'true') }] } } },
  ],
  [
    'least role of organisation-data-reader',
    `${READER} has roles/storage.admin in ${PROJECT_ID}; roles/datastore.viewer is enough`,
    `if nothing else needs it: ${grant(READER, 'roles/datastore.viewer')} && gcloud projects remove-iam-policy-binding ${PROJECT_ID} --condition=None --member=serviceAccount:${READER} --role=roles/storage.admin`,
    { [policy]: projectPolicyOf([...ROLES, ['roles/storage.admin', READER]]) },
  ],
  [
    'least role of the account that builds',
    `${BUILDER} has roles/editor in 12; roles/cloudbuild.builds.builder is enough`,
    `gcloud organizations remove-iam-policy-binding 12 --condition=None --member=serviceAccount:${BUILDER} --role=roles/editor`,
    { [organisation]: projectPolicyOf([['roles/editor', BUILDER]]) },
  ],
  [
    'least role of App Engine',
    `${APP_ENGINE} has roles/editor in ${PROJECT_ID}`,
    `if nothing else needs it: gcloud projects remove-iam-policy-binding ${PROJECT_ID} `,
    { [policy]: projectPolicyOf([...ROLES, ['roles/editor', APP_ENGINE]]) },
  ],
  [
    'least roles of the deployer',
    'also has datastore.entities.get',
    'after the first deployment use an account with only the roles',
    { [permissions]: without('resourcemanager.projects.setIamPolicy') },
  ],
  ...['allUsers', 'allAuthenticatedUsers'].map((member): Row => [
    'public members',
    `${member} has roles/datastore.viewer in the whole project`,
    `gcloud projects remove-iam-policy-binding ${PROJECT_ID} --member=${member} --role=roles/datastore.viewer`,
    {
      [policy]: {
        bindings: [...projectPolicyOf(ROLES).bindings, ...policyOf([['roles/datastore.viewer', member]]).bindings],
      },
    },
  ]),
  ...(
    [
      ['roles/iam.serviceAccountTokenCreator', 'user:x@example.com'],
      ['roles/iam.serviceAccountUser', 'domain:example.com'],
      ['roles/iam.serviceAccountUser', 'allAuthenticatedUsers'],
      [
        'roles/iam.workloadIdentityUser',
        'principalSet://iam.googleapis.com/projects/9/locations/global/workloadIdentityPools/other/*',
      ],
    ] as [string, string][]
  ).map(([role, member]): Row => [
    'members that act as the accounts',
    `${member} has ${role} on ${READER}`,
    `gcloud iam service-accounts remove-iam-policy-binding ${READER} ${OF_PROJECT} --member=${member} --role=${role}`,
    {
      [`iam ${PATH}/serviceAccounts/${READER}:getIamPolicy`]: policyOf([
        ['roles/iam.serviceAccountUser', 'user:deployer@example.com'],
        [role, member],
      ]),
    },
  ]),
  [
    'members that act as the accounts',
    'user:x@example.com has roles/iam.serviceAccountTokenCreator in the whole project',
    `gcloud projects remove-iam-policy-binding ${PROJECT_ID} --member=user:x@example.com `,
    {
      [policy]: {
        bindings: [
          ...projectPolicyOf(ROLES).bindings,
          ...policyOf([
            ['roles/iam.serviceAccountTokenCreator', 'serviceAccount:service-1@gcp-sa-pubsub.iam.gserviceaccount.com'],
            ['roles/iam.serviceAccountTokenCreator', 'user:x@example.com'],
          ]).bindings,
        ],
      },
    },
  ],
  [
    'pause of price lists',
    'WRITES_PAUSED is true',
    'after the restore, set it to false and deploy both functions',
    {},
    parameters({ WRITES_PAUSED: 'true' }),
  ],
  [
    'identity of GitHub',
    `provider github accepts too much: ${CONDITION} || true`,
    `${UPDATE_PROVIDER} `,
    { [providers]: providersOf(`${CONDITION} || true`) },
  ],
  [
    'identity of GitHub',
    'provider github does not map the environment',
    `${UPDATE_PROVIDER} `,
    { [providers]: providersOf(CONDITION, "'production'") },
  ],
  [
    'identity of GitHub',
    `${memberOf('*')} acts as ${READER}`,
    `gcloud iam service-accounts remove-iam-policy-binding ${READER} ${OF_PROJECT} `,
    {
      [`iam ${PATH}/serviceAccounts`]: (_, query) =>
        query.get('pageToken') === 'page 2'
          ? { accounts: [{ email: READER }] }
          : { accounts: [{ email: AUDITOR }], nextPageToken: 'page 2' },
      [`iam ${PATH}/serviceAccounts/${READER}:getIamPolicy`]: policyOf([[ACTS_AS, memberOf('*')]]),
    },
  ],
  [
    'identity of GitHub',
    `${memberOf('attribute.environment/audit')} acts as ${WRITER} and ${AUDITOR}`,
    `gcloud iam service-accounts remove-iam-policy-binding ${WRITER} ${OF_PROJECT} `,
    {
      [`iam ${PATH}/serviceAccounts/${WRITER}:getIamPolicy`]: policyOf([
        [ACTS_AS, memberOf('attribute.environment/audit')],
      ]),
    },
  ],
  [
    'identity of GitHub',
    `${memberOf('*')} has roles/editor in the whole project`,
    `gcloud projects remove-iam-policy-binding ${PROJECT_ID} --member='${memberOf('*')}' --role=roles/editor`,
    {
      [policy]: { bindings: [...projectPolicyOf(ROLES).bindings, { role: 'roles/editor', members: [memberOf('*')] }] },
    },
  ],
  [
    'role of the account that builds',
    'no account ',
    `gcloud services enable cloudbuild.googleapis.com compute.googleapis.com ${OF_PROJECT}`,
    { [`iam ${PATH}/serviceAccounts/${BUILDER}`]: undefined },
  ],
  [
    'role of organisation-data-reader',
    `${READER} lacks roles/datastore.viewer`,
    grant(READER, 'roles/datastore.viewer'),
    policyWithout('roles/datastore.viewer'),
  ],
  [
    'role of the account that builds',
    `${BUILDER} lacks roles/cloudbuild.builds.builder`,
    grant(BUILDER, 'roles/cloudbuild.builds.builder'),
    policyWithout('roles/cloudbuild.builds.builder'),
  ],
  [
    'index orders (COLLECTION), team_id ASCENDING, created_at ASCENDING',
    'not found',
    `firebase deploy --only firestore:indexes ${OF_PROJECT}`,
    { [`${database}/collectionGroups/-/indexes`]: { indexes: storedIndexes('READY').indexes.slice(1) } },
  ],
  [
    'index orders (COLLECTION), team_id ASCENDING, created_at ASCENDING',
    'NEEDS_REPAIR',
    `gcloud firestore indexes composite delete 0 --database='(default)' ${OF_PROJECT} && firebase deploy --only firestore:indexes`,
    {
      [`${database}/collectionGroups/-/indexes`]: {
        indexes: storedIndexes('READY').indexes.map((index, i) =>
          i === 0 ? { ...index, state: 'NEEDS_REPAIR' } : index,
        ),
      },
    },
  ],
  [
    'index exemptions',
    'price_list_payload/fields/data',
    `firebase deploy --only firestore:indexes ${OF_PROJECT}`,
    {
      [`${database}/collectionGroups/-/fields`]: storedFields(
        indexDefinitions.fieldOverrides.filter(({ fieldPath }) => fieldPath !== 'data'),
      ),
    },
  ],
  [
    'deployer: roles/secretmanager.secretAccessor on the secret API_KEY',
    'lacks secretmanager.versions.access',
    `gcloud secrets add-iam-policy-binding API_KEY ${OF_PROJECT} --member=<deployer> --role=roles/secretmanager.secretAccessor`,
    { [`secretmanager ${PATH}/secrets/API_KEY:testIamPermissions`]: without('secretmanager.versions.access') },
  ],
  [
    'deployer: roles/firebaserules.viewer',
    'lacks firebaserules.rulesets.test',
    grantDeployer('roles/firebaserules.viewer'),
    { [permissions]: without('firebaserules.rulesets.test', ...NOT_FOR_DEPLOYER) },
  ],
  ...[WRITER, APP_ENGINE].map((email): Row => [
    `deployer: acts as ${email}`,
    'not granted',
    `gcloud iam service-accounts add-iam-policy-binding ${email} ${OF_PROJECT} --member=<deployer> --role=roles/iam.serviceAccountUser`,
    { [`iam ${PATH}/serviceAccounts/${email}:testIamPermissions`]: {} },
  ]),
];

test.each(ROWS)('%s: %s', async (subject, detail, fix, answers, changes = {}) => {
  const kind = WARNINGS.includes(subject) ? 'warning' : 'missing';
  const texts = { detail: expect.stringContaining(detail) as string, fix: expect.stringContaining(fix) as string };
  expect(listProblems(await check(answers, changes))).toEqual([{ subject, kind, ...texts }]);
});

test.each([
  [
    'that builds with the account of older projects',
    {
      [`cloudbuild ${PATH}/${LOCATION}/defaultServiceAccount`]: {
        serviceAccountEmail: '1@cloudbuild.gserviceaccount.com',
      },
    },
  ],
  [
    'whose functions use another database',
    Object.fromEntries(
      ['', '/collectionGroups/-/fields', '/collectionGroups/-/indexes'].flatMap((path): [string, Answers[string]][] => [
        [`${database}${path}`, undefined],
        [`firestore ${PATH}/databases/restored${path}`, READY[`${database}${path}`]],
      ]),
    ),
    { ...parameters({ DATABASE_ID: 'restored' }), firestoreDatabase: 'restored' },
  ],
  ['whose traffic goes to the latest revision', servingWith('LATEST', {})],
  [
    'without rules, where Firestore refuses every client',
    { [`firebaserules ${PATH}/releases/cloud.firestore`]: undefined },
  ],
  [
    'that keeps its own rules',
    { [`firebaserules v1/${RELEASE}`]: { source: { files: [{ content: 'allow read;' }] } } },
    { keepRules: true },
  ],
  [
    'whose environments have other names',
    {
      [providers]: providersOf(CONDITION.replace("'production', 'audit'", "'staging', 'staging-audit'")),
      [`iam ${PATH}/serviceAccounts/${DEPLOYER}:getIamPolicy`]: policyOf([
        [ACTS_AS, memberOf('attribute.environment/staging')],
      ]),
    },
  ],
  ['whose deployed API keys are the newest', deployedWithKeys(NAMED_KEY)],
  ['whose deployed version of the API keys is destroyed', deployedWithKeys('an-old-key', 'DESTROYED')],
  ['that is not deployed from GitHub', { [providers]: undefined }],
  ['whose images are kept', { [repository]: { labels: { 'firebase-functions-cleanup-opted-out': 'true' } } }],
  ['whose minimum of instances is deployed', allDeployedWith(1), parameters({ MIN_INSTANCES: '1' })],
] as [string, Answers, Partial<Deployment>?][])(
  'nothing is missing in a project %s',
  async (...[, answers, changes]) => {
    expect(listProblems(await check(answers, changes))).toEqual([]);
  },
);

test('the fix for an index that is being built is to wait', async () => {
  const problems = listProblems(await check({ [`${database}/collectionGroups/-/indexes`]: storedIndexes('CREATING') }));
  const waiting = { kind: 'missing', detail: 'being built', fix: 'wait, and run this command again' };
  expect(problems).toMatchObject(indexDefinitions.indexes.map(() => waiting));
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
      void (async () => {
        const { method = '', url = '' } = request;
        const [, api = '', path = ''] = /^\/(\w+)\.googleapis\.com\/(.*)$/.exec(url) ?? [];
        requests.push(`${method} ${url}`);
        authorizations.add(request.headers.authorization);
        const body = await text(request);
        const found = answer(answers, api, path, body === '' ? undefined : JSON.parse(body));
        response.statusCode = found === undefined ? 404 : 200;
        if (isCutOff) return void response.write('{', () => response.destroy());
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
    isCutOff = false;
  });

  afterEach(() => rmSync(PARAMETERS_FILE, { force: true }));

  afterAll(() => void server.close());

  const runCommand = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    runProgram(process.execPath, ['--import', 'tsx', 'scripts/deploy-check.ts', ...args], {
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
    const reads = /^GET |^POST [^?]+:(getAncestry|getIamPolicy|getEffectiveOrgPolicy|testIamPermissions)$/;
    for (const request of requests) expect(request).toMatch(reads);
    expect(authorizations).toEqual(new Set(['Bearer a-token']));
  });

  test('lists what an empty project lacks', async () => {
    answers = {};
    const { code, stdout } = await runCommand(['--project', PROJECT_ID]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Missing \(\d+\)\n {2}parameter .+\n {6}echo /);
    expect(stdout).toContain(`\n  project: not found\n      firebase projects:create ${PROJECT_ID}\n`);
    expect(stdout).not.toContain('Could not be checked');
    expect(stdout).toMatch(
      /\n\nThere \(20\)\n {2}lines of the parameters\n {2}database of the indexes\n {2}API keys in the secret\n {2}organisation policy\n {2}identity of GitHub\n {2}rules of database \(default\)\n {2}names of the functions\n/,
    );
  });

  test('what the API did not send completely is unknown, and not missing', async () => {
    isCutOff = true;
    const findings = await runChecks(deployment, createGoogleClient(PROJECT_ID, 'a-token', endpoint));
    expect(findings.filter(({ kind }) => kind === 'missing')).toEqual([]);
    const detail = expect.stringMatching(/^secretmanager\.googleapis\.com: ./) as string;
    expect(findings).toContainEqual({ subject: 'secret API_KEY', kind: 'unknown', detail });
  });

  test('says first that it has no credentials, and lists everything unknown under one reason', async () => {
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

test('nothing is missing if an organisation forbids allUsers and the invoker of the operations is private', async () => {
  const { manifest } = deployment;
  const endpoints = Object.entries(manifest.endpoints).map(([id, endpoint]) => {
    const isOperation = endpoint.httpsTrigger !== undefined;
    return [id, isOperation ? { ...endpoint, httpsTrigger: { invoker: ['private'] } } : endpoint] as const;
  });
  const answers = {
    [`cloudresourcemanager ${PATH}:getEffectiveOrgPolicy`]: { listPolicy: { allowedValues: ['C01'] } },
  };
  const isPrivate = { manifest: { ...manifest, endpoints: Object.fromEntries(endpoints) } };
  expect(listProblems(await check(answers, isPrivate))).toEqual([]);
});
