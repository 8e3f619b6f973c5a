import { parseApiKeys } from '../../functions/src/lib/api-keys';
import { findOriginProblem } from '../../functions/src/lib/origins';
import { REGION } from '../../functions/src/lib/region';
import { listDeployedFunctions } from './deployed-functions';
import { findFederationProblem } from './federation';
import { UnreachableError, type AskGoogle, type Policy } from './google-api';
import type { DeployManifest, ManifestEndpoint, ManifestParam } from './manifest';
import { listAll, type Problem, type Requirement } from './requirement';
import { listRules } from './rules';

/** One line of the result. `fix` is the command that supplies what is missing. A warning stops no deployment. */
export type Finding =
  | { subject: string; kind: 'ok' }
  | { subject: string; kind: 'missing' | 'warning'; detail: string; fix: string }
  | { subject: string; kind: 'unknown'; detail: string };

/** What a deployment consists of, read from the repository. */
export interface Deployment {
  projectId: string;
  manifest: DeployManifest;
  /** `runtime` of firebase.json. */
  runtime: string;
  indexes: DeclaredIndexes;
  /** Contents of functions/.env.<project>; undefined without such a file. */
  parameters: Record<string, string> | undefined;
  /** `firestore.database` of firebase.json: the database that Firebase's tools deploy indexes and rules to. */
  firestoreDatabase: string;
  /** Contents of firestore.rules. */
  rules: string;
  /** Whether the deployment will be run with `--force`. */
  force: boolean;
  /** Whether the owner has decided to keep the project's rules. */
  keepRules: boolean;
}

export interface DeclaredIndexes {
  indexes: { collectionGroup: string; queryScope: string; fields: IndexField[] }[];
  fieldOverrides: { collectionGroup: string; fieldPath: string }[];
}

interface IndexField {
  fieldPath: string;
  order?: string;
}

/** Services that firebase-tools, this check and the monitoring of docs/deployment.md call, beside those of the manifest. */
const SERVICES =
  'artifactregistry cloudbilling cloudbuild cloudfunctions cloudresourcemanager compute eventarc firebase firebaserules ' +
  'firestore iam logging monitoring pubsub run secretmanager serviceusage storage';

/** Of each role of the deployer, the permissions that firebase-tools uses and those that this check reads with. */
const DEPLOYER_ROLES: Record<string, [resource: string, verbs: string][]> = {
  'roles/cloudfunctions.admin': [
    ['artifactregistry.repositories', 'get'],
    ['cloudbuild.builds', 'get'],
    ['cloudfunctions.functions', 'create delete get list setIamPolicy sourceCodeSet update'],
    ['cloudfunctions.operations', 'get'],
    ['run.revisions', 'get'],
    ['run.services', 'get getIamPolicy setIamPolicy'],
  ],
  'roles/cloudscheduler.admin': [['cloudscheduler.jobs', 'create delete get update']],
  // Since March 2026 the role has these in place of `datastore.indexes`, for which firebase-tools
  // 15.34 still asks, in vain.
  'roles/datastore.indexAdmin': [['datastore.schemas', 'create delete list update']],
  'roles/firebase.viewer': [['firebase.projects', 'get']],
  // Not the admin's role: the workflow cannot replace the rules of a shared project.
  'roles/firebaserules.viewer': [
    ['firebaserules.releases', 'get'],
    ['firebaserules.rulesets', 'get test'],
  ],
  'roles/iam.securityReviewer': [['iam.serviceAccounts', 'getIamPolicy list']],
  'roles/orgpolicy.policyViewer': [['orgpolicy.policy', 'get']],
  'roles/serviceusage.serviceUsageAdmin': [['serviceusage.services', 'enable get use']],
};

/** On the secret alone: firebase-tools grants the accounts of the functions access to it. */
const SECRET_ROLE = 'roles/secretmanager.admin';
const SECRET_PERMISSIONS = [
  'secretmanager.secrets.get',
  'secretmanager.secrets.getIamPolicy',
  'secretmanager.secrets.setIamPolicy',
  'secretmanager.versions.access',
  'secretmanager.versions.get',
];

/** Roles of the functions' accounts, by name: the one that is needed, then broader ones. */
const ACCOUNT_ROLES: Record<string, string[]> = {
  'organisation-data-reader': [
    'roles/datastore.viewer',
    'roles/datastore.user',
    'roles/datastore.owner',
    'roles/editor',
    'roles/owner',
  ],
  'price-lists-writer': ['roles/datastore.user', 'roles/datastore.owner', 'roles/editor', 'roles/owner'],
};

const BUILDER_ROLES = ['roles/cloudbuild.builds.builder', 'roles/editor', 'roles/owner'];

/** Google's own accounts have their role from when the service was enabled, unless someone took it away. */
const AGENT_DOMAINS: Record<string, string> = {
  cloudbuild: 'gcp-sa-cloudbuild',
  cloudfunctions: 'gcf-admin-robot',
  cloudscheduler: 'gcp-sa-cloudscheduler',
  run: 'serverless-robot-prod',
};

/** Checks every requirement. Nothing is changed. */
export function runChecks(deployment: Deployment, ask: AskGoogle): Promise<Finding[]> {
  const { projectId, manifest, parameters, force, keepRules, rules } = deployment;
  const emails = new Map(Object.entries(manifest.endpoints).map(([id, each]) => [id, getEmail(each, projectId)]));
  const functions = Object.entries(manifest.endpoints).map(([id, { httpsTrigger }]) => ({
    id,
    email: emails.get(id) ?? '',
    isOperation: httpsTrigger !== undefined,
  }));
  const minimum = force ? 0 : Number(parameters?.['MIN_INSTANCES'] ?? 0);
  const requirements = [
    ...listParameters(deployment),
    ...listResources(deployment, ask),
    checkKeyLines(projectId, ask),
    ...listSettings(deployment, ask),
    ...listRoles(deployment, ask),
    ...listFirestoreSettings(deployment, ask),
    ...(keepRules ? [] : [listRules({ projectId, databaseId: getDatabaseId(deployment), rules }, ask)]),
    ...listDeployedFunctions({ projectId, region: REGION, functions, ask }, minimum),
    ...listDeployerPermissions(deployment, ask),
  ];
  const warnings = [...listBroadRoles(deployment, ask), checkKeyLengths(projectId, ask)];
  return Promise.all([
    ...requirements.map((each) => check(each, 'missing')),
    ...warnings.map((each) => check(each, 'warning')),
  ]);
}

async function check([subject, findProblem]: Requirement, kind: 'missing' | 'warning'): Promise<Finding> {
  try {
    const problem = await findProblem();
    if (problem === undefined) return { subject, kind: 'ok' };
    const [detail, fix] = problem;
    return { subject, kind, detail, fix };
  } catch (error) {
    if (error instanceof UnreachableError) return { subject, kind: 'unknown', detail: error.message };
    throw error;
  }
}

/** Without a terminal firebase-tools stops at a parameter that has no value, even at one with a default. */
function listParameters(deployment: Deployment): Requirement[] {
  const { projectId, manifest, parameters, firestoreDatabase } = deployment;
  const file = `functions/.env.${projectId}`;
  const findProblem = (param: ManifestParam): Problem | undefined => {
    const value = parameters?.[param.name];
    if (value === undefined)
      return [`not in ${file}`, `echo '${param.name}=${String(param.default ?? '')}' >> ${file}`];
    const problem = findValueProblem(param, value, parameters);
    return problem === undefined ? undefined : [problem, `edit ${file}`];
  };
  const settings = manifest.params.filter(({ type }) => type !== 'secret');
  const databaseId = getDatabaseId(deployment);
  return [
    ...settings.map((param): Requirement => [`parameter ${param.name}`, () => Promise.resolve(findProblem(param))]),
    [
      'database of the indexes',
      () =>
        Promise.resolve(
          databaseId === firestoreDatabase
            ? undefined
            : [
                `firebase.json deploys them to ${firestoreDatabase}, the functions use ${databaseId}`,
                `set "database" in firebase.json to "${databaseId}"`,
              ],
        ),
    ],
  ];
}

/** The rule of https://cloud.google.com/firestore/docs/manage-databases. */
const DATABASE_ID = /^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$/;

/** Returns the database that the functions will use: without a valid value, the default one. */
const getDatabaseId = ({ parameters }: Deployment): string => {
  const id = parameters?.['DATABASE_ID'] ?? '';
  return DATABASE_ID.test(id) ? id : '(default)';
};

function findValueProblem(
  { name, type }: ManifestParam,
  value: string,
  parameters: Deployment['parameters'],
): string | undefined {
  if (type === 'int' && !/^\d+$/.test(value)) return `${value} is no number`;
  if (name === 'MAX_INSTANCES' && Number(value) === 0) return '0 would be no maximum at all';
  const maximum = parameters?.['MAX_INSTANCES'];
  if (name === 'MIN_INSTANCES' && Number(value) > Number(maximum)) return `${value} is above MAX_INSTANCES, ${maximum}`;
  if (name === 'DATABASE_ID' && !DATABASE_ID.test(value)) return `${value} is not the id of a database`;
  if (name !== 'CORS_ALLOWED_ORIGINS') return undefined;
  const origins = value.split(',').map((origin) => origin.trim());
  const problems = origins.filter((origin) => origin !== '').map(findOriginProblem);
  return problems.find((problem) => problem !== undefined);
}

const getEmail = ({ serviceAccountEmail }: ManifestEndpoint, projectId: string): string =>
  serviceAccountEmail.replace('{{ params.PROJECT_ID }}', projectId);

/** Addresses of the accounts that the functions run as. */
const listEmails = ({ manifest: { endpoints }, projectId }: Deployment): string[] => [
  ...new Set(Object.values(endpoints).map((each) => getEmail(each, projectId))),
];

/** What must exist, with the value that one of its fields must have. */
function listResources(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId, manifest } = deployment;
  const path = `v1/projects/${projectId}`;
  const database = 'gcloud firestore databases';
  const databaseId = getDatabaseId(deployment);
  const named = `--database='${databaseId}'`;
  const accounts = 'gcloud iam service-accounts';
  const secrets = manifest.params.filter(({ type }) => type === 'secret');
  /** `fix` mends what is not there, `change` what has another value. */
  const resources: { subject: string; at: [api: string, path: string]; is: object; fix: string; change?: string }[] = [
    {
      subject: 'project',
      at: ['cloudresourcemanager', path],
      is: { lifecycleState: 'ACTIVE' },
      fix: `firebase projects:create ${projectId}`,
      change: `gcloud projects undelete ${projectId}`,
    },
    {
      subject: 'Firebase project',
      at: ['firebase', `v1beta1/projects/${projectId}/adminSdkConfig`],
      is: { projectId },
      fix: `firebase projects:addfirebase ${projectId}`,
    },
    {
      subject: 'billing',
      at: ['cloudbilling', `${path}/billingInfo`],
      is: { billingEnabled: true },
      fix: `gcloud billing projects link ${projectId} --billing-account=<account>`,
    },
    {
      subject: 'Cloud Scheduler in the region',
      at: ['cloudscheduler', `${path}/locations/${REGION}`],
      is: { locationId: REGION },
      fix: 'deploy the functions to a region that has Cloud Scheduler',
    },
    {
      subject: `database ${databaseId}`,
      at: ['firestore', `${path}/databases/${databaseId}`],
      is: { type: 'FIRESTORE_NATIVE' },
      fix: `${database} create ${named} --location=nam5 --type=firestore-native --project ${projectId}`,
      change: `${database} update ${named} --type=firestore-native --project ${projectId}`,
    },
    ...secrets.map(({ name }) => ({
      subject: `secret ${name}`,
      at: ['secretmanager', `${path}/secrets/${name}/versions/latest`] as [string, string],
      is: { state: 'ENABLED' },
      fix: `firebase functions:secrets:set ${name} --project ${projectId}`,
    })),
    ...listEmails(deployment).map((email) => ({
      subject: `service account ${email}`,
      at: ['iam', `${path}/serviceAccounts/${email}`] as [string, string],
      is: { disabled: undefined },
      fix: `${accounts} create ${email.replace(/@.*/, '')} --project ${projectId}`,
      change: `${accounts} enable ${email} --project ${projectId}`,
    })),
  ];
  return resources.map(({ subject, at, is, fix, change = fix }) => [
    subject,
    async () => {
      const found = await ask<Record<string, unknown>>(...at);
      if (found === undefined) return ['not found', fix];
      const other = Object.entries(is).find(([field, value]) => found[field] !== value);
      return other && [`${other[0]} is ${JSON.stringify(found[other[0]] ?? null)}`, change];
    },
  ]);
}

/** A key of fewer characters can be guessed. */
const MIN_KEY_CHARACTERS = 20;

const setKeys = (projectId: string) =>
  `firebase functions:secrets:set API_KEY --data-file keys.txt --project ${projectId}`;

/** Reads the API keys that the next deployment makes valid. Nothing of them is ever printed. */
async function readApiKeys(projectId: string, ask: AskGoogle) {
  const path = `v1/projects/${projectId}/secrets/API_KEY/versions/latest:access`;
  const found = await ask<{ payload?: { data?: string } }>('secretmanager', path);
  return found && parseApiKeys(Buffer.from(found.payload?.data ?? '', 'base64').toString());
}

const checkKeyLines = (projectId: string, ask: AskGoogle): Requirement => [
  'API keys in the secret',
  async () => {
    const found = await readApiKeys(projectId, ask);
    if (found === undefined) return undefined;
    const lines = found.invalidLines.join(', ');
    if (lines !== '') return [`no key, because of white space inside: line ${lines}`, setKeys(projectId)];
    return found.keys.length === 0 ? ['there is none', setKeys(projectId)] : undefined;
  },
];

const checkKeyLengths = (projectId: string, ask: AskGoogle): Requirement => [
  'length of the API keys',
  async () => {
    const short = (await readApiKeys(projectId, ask))?.keys.filter((key) => key.length < MIN_KEY_CHARACTERS) ?? [];
    const detail = `keys with fewer than ${MIN_KEY_CHARACTERS} characters: ${short.length}`;
    return short.length === 0 ? undefined : [detail, 'replace them: openssl rand -hex 32 makes a key'];
  },
];

/** What is read in its own way. */
function listSettings({ projectId, manifest, runtime }: Deployment, ask: AskGoogle): Requirement[] {
  const path = `projects/${projectId}`;
  const location = `${path}/locations/${REGION}`;
  return [
    [
      'services',
      async () => {
        const names = SERVICES.split(' ').map((name) => `${name}.googleapis.com`);
        names.push(...manifest.requiredAPIs.map(({ api }) => api));
        const query = names.map((name) => `names=${path}/services/${name}`).join('&');
        const found = await ask<{ services: { name: string; state: string }[] }>(
          'serviceusage',
          `v1/${path}/services:batchGet?${query}`,
        );
        const enabled = found?.services.filter(({ state }) => state === 'ENABLED') ?? [];
        const lacking = names.filter((name) => !enabled.some((each) => each.name.endsWith(`/${name}`)));
        const fix = `gcloud services enable ${lacking.join(' ')} --project ${projectId}`;
        return lacking.length === 0 ? undefined : [lacking.join(', '), fix];
      },
    ],
    [
      `runtime ${runtime}`,
      async () => {
        interface Runtimes {
          runtimes: { name: string; stage: string }[];
        }
        const found = await ask<Runtimes>('cloudfunctions', `v2/${location}/runtimes?pageSize=200`);
        const stage = found?.runtimes.find(({ name }) => name === runtime)?.stage ?? `not offered in ${REGION}`;
        const fix = 'set "runtime" in firebase.json and the version in .nvmrc to one that the region offers';
        return stage === 'GA' ? undefined : [stage, fix];
      },
    ],
    [
      // Without one firebase-tools deploys, and then fails (setupArtifactCleanupPolicies in its
      // deploy/functions/release).
      'clean-up policy of the images',
      async () => {
        interface Repository {
          cleanupPolicies?: object;
          labels?: Record<string, string>;
        }
        const found = await ask<Repository>('artifactregistry', `v1/${location}/repositories/gcf-artifacts`);
        const set = `firebase functions:artifacts:setpolicy --location ${REGION} --days 30 --force --project ${projectId}`;
        const create = `gcloud artifacts repositories create gcf-artifacts --repository-format=docker --location=${REGION} --project ${projectId}`;
        if (found === undefined) return ['no repository gcf-artifacts', `${create} && ${set}`];
        const isRefused = found.labels?.['firebase-functions-cleanup-opted-out'] === 'true';
        return isRefused || Object.keys(found.cleanupPolicies ?? {}).length > 0 ? undefined : ['not set', set];
      },
    ],
    [
      // firebase-tools lets allUsers call the operations, which check the API key themselves.
      'organisation policy',
      async () => {
        const constraint = 'constraints/iam.allowedPolicyMemberDomains';
        const triggers = Object.values(manifest.endpoints).map(({ httpsTrigger }) => httpsTrigger);
        if (!triggers.some((trigger) => trigger?.invoker?.includes('public'))) return undefined;
        const found = await ask<{ listPolicy?: { allValues?: string } }>(
          'cloudresourcemanager',
          `v1/${path}:getEffectiveOrgPolicy`,
          { constraint },
        );
        const isOpen = found?.listPolicy === undefined || found.listPolicy.allValues === 'ALLOW';
        const fix = 'make the operations public without allUsers: docs/deployment.md, section "Public access"';
        return isOpen ? undefined : [`${constraint} forbids allUsers`, fix];
      },
    ],
    ['identity of GitHub', () => findFederationProblem(projectId, ask)],
  ];
}

const grantInProject = (projectId: string, member: string, role: string): string =>
  `gcloud projects add-iam-policy-binding ${projectId} --condition=None --member=${member} --role=${role}`;

/** Reads the roles in the project that an account has of those that are named. */
async function readRoles(projectId: string, email: string, roles: string[], ask: AskGoogle): Promise<string[]> {
  const policy = await ask<Policy>('cloudresourcemanager', `v1/projects/${projectId}:getIamPolicy`, {});
  const granted = policy?.bindings?.filter(({ members }) => members.includes(`serviceAccount:${email}`)) ?? [];
  return roles.filter((role) => granted.some((binding) => binding.role === role));
}

/** Finds the account that builds the functions. @returns undefined for Google's own, which has its role */
async function readBuilder(projectId: string, ask: AskGoogle): Promise<string | undefined> {
  const path = `v1/projects/${projectId}/locations/${REGION}/defaultServiceAccount`;
  const found = await ask<{ serviceAccountEmail?: string }>('cloudbuild', path);
  const email = found?.serviceAccountEmail?.split('/').at(-1) ?? '';
  return email.endsWith('@cloudbuild.gserviceaccount.com') ? undefined : email;
}

/** Roles in the project: of the functions' accounts, of the one that builds them, and of Google's own. */
function listRoles(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  const path = `v1/projects/${projectId}`;
  const findProblem = async (email: string, roles: string[]): Promise<Problem | undefined> => {
    const [role = ''] = roles;
    const granted = await readRoles(projectId, email, roles, ask);
    if (granted.length > 0) return undefined;
    return [`${email} lacks ${role}`, grantInProject(projectId, `serviceAccount:${email}`, role)];
  };
  return [
    ...listEmails(deployment).map((email): Requirement => {
      const name = email.replace(/@.*/, '');
      return [`role of ${name}`, () => findProblem(email, getAccountRoles(name))];
    }),
    [
      'role of the account that builds',
      async () => {
        const email = await readBuilder(projectId, ask);
        if (email === undefined) return undefined;
        const account = await ask('iam', `${path}/serviceAccounts/${email || '-'}`);
        const enable = `gcloud services enable cloudbuild.googleapis.com compute.googleapis.com --project ${projectId}`;
        return account === undefined ? [`no account ${email}`, enable] : findProblem(email, BUILDER_ROLES);
      },
    ],
    ...Object.entries(AGENT_DOMAINS).map(([service, domain]): Requirement => [
      `role of the agent of ${service}`,
      async () => {
        const project = await ask<{ projectNumber: string }>('cloudresourcemanager', path);
        const email = `service-${project?.projectNumber ?? '<number>'}@${domain}.iam.gserviceaccount.com`;
        const problem = await findProblem(email, [`roles/${service}.serviceAgent`]);
        const create = `gcloud beta services identity create --service=${service}.googleapis.com --project ${projectId}`;
        return problem && [problem[0], `${create} && ${problem[1]}`];
      },
    ]),
  ];
}

function getAccountRoles(name: string): string[] {
  const roles = ACCOUNT_ROLES[name];
  if (roles === undefined) throw new Error(`The role of ${name} is not in ACCOUNT_ROLES.`);
  return roles;
}

/** Warns of accounts that may do more than their work needs. */
function listBroadRoles(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  const findProblem = async (email: string | undefined, [needed = '', ...broader]: string[]) => {
    if (email === undefined) return undefined;
    const [broad] = await readRoles(projectId, email, broader, ask);
    const member = `serviceAccount:${email}`;
    const remove = `gcloud projects remove-iam-policy-binding ${projectId} --condition=None --member=${member} --role=${broad}`;
    const fix = `if nothing else needs it: ${grantInProject(projectId, member, needed)} && ${remove}`;
    return broad === undefined ? undefined : ([`${email} has ${broad}; ${needed} is enough`, fix] satisfies Problem);
  };
  return [
    ...listEmails(deployment).map((email): Requirement => {
      const name = email.replace(/@.*/, '');
      return [`least role of ${name}`, () => findProblem(email, getAccountRoles(name))];
    }),
    [
      'least role of the account that builds',
      async () => findProblem(await readBuilder(projectId, ask), BUILDER_ROLES),
    ],
  ];
}

function listFirestoreSettings(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId, indexes: declared } = deployment;
  const group = `v1/projects/${projectId}/databases/${getDatabaseId(deployment)}/collectionGroups/-`;
  const deploy = `firebase deploy --only firestore:indexes --project ${projectId}`;
  interface StoredIndex {
    name: string;
    queryScope: string;
    fields: IndexField[];
    state: string;
  }
  return [
    ...declared.indexes.map(({ collectionGroup, queryScope, fields }): Requirement => {
      const wanted = describeIndex(collectionGroup, queryScope, fields);
      return [
        `index ${wanted}`,
        async () => {
          const found = await listAll<StoredIndex>(ask, 'firestore', `${group}/indexes`, 'indexes');
          const stored = found.find(
            ({ name, queryScope, fields }) =>
              describeIndex(name.split('/').at(-3) ?? '', queryScope, fields) === wanted,
          );
          if (stored?.state === 'READY') return undefined;
          if (stored?.state === 'CREATING') return ['being built', 'wait, and run this command again'];
          return [stored?.state ?? 'not found', deploy];
        },
      ];
    }),
    [
      'index exemptions',
      async () => {
        const filter = encodeURIComponent('indexConfig.usesAncestorConfig:false');
        const found = await listAll<{ name: string }>(ask, 'firestore', `${group}/fields?filter=${filter}`, 'fields');
        const exemptions = declared.fieldOverrides.map((each) => `${each.collectionGroup}/fields/${each.fieldPath}`);
        const lacking = exemptions.filter((field) => !found.some(({ name }) => name.endsWith(`/${field}`)));
        return lacking.length === 0 ? undefined : [lacking.join(', '), deploy];
      },
    ],
  ];
}

/** Firestore adds `__name__` to each index that it stores. */
function describeIndex(collectionGroup: string, queryScope: string, fields: IndexField[]): string {
  const own = fields.filter(({ fieldPath }) => fieldPath !== '__name__');
  const columns = own.map(({ fieldPath, order = '' }) => `${fieldPath} ${order}`);
  return [`${collectionGroup} (${queryScope})`, ...columns].join(', ');
}

/** Permissions of the credentials that this command runs with. */
function listDeployerPermissions(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId, manifest } = deployment;
  const path = `v1/projects/${projectId}`;
  interface Granted {
    permissions?: string[];
  }
  const roles = Object.entries(DEPLOYER_ROLES).map(([role, resources]): Requirement => [
    `deployer: ${role}`,
    async () => {
      const permissions = resources.flatMap(([name, verbs]) => verbs.split(' ').map((verb) => `${name}.${verb}`));
      const found = await ask<Granted>('cloudresourcemanager', `${path}:testIamPermissions`, { permissions });
      const lacking = permissions.filter((permission) => found?.permissions?.includes(permission) !== true);
      const fix = grantInProject(projectId, '<deployer>', role);
      return lacking.length === 0 ? undefined : [`lacks ${lacking.join(', ')}`, fix];
    },
  ]);
  const secrets = manifest.params.filter(({ type }) => type === 'secret');
  const ofSecrets = secrets.map(({ name }): Requirement => [
    `deployer: ${SECRET_ROLE} on the secret ${name}`,
    async () => {
      const resource = `${path}/secrets/${name}:testIamPermissions`;
      const found = await ask<Granted>('secretmanager', resource, { permissions: SECRET_PERMISSIONS });
      const lacking = SECRET_PERMISSIONS.filter((permission) => found?.permissions?.includes(permission) !== true);
      const grant = `gcloud secrets add-iam-policy-binding ${name} --project ${projectId}`;
      return lacking.length === 0
        ? undefined
        : [`lacks ${lacking.join(', ')}`, `${grant} --member=<deployer> --role=${SECRET_ROLE}`];
    },
  ]);
  // firebase-tools also asks for App Engine's default account, where there is one.
  const appEngine = `${projectId}@appspot.gserviceaccount.com`;
  const accounts = [...listEmails(deployment), appEngine].map((email): Requirement => [
    `deployer: acts as ${email}`,
    async () => {
      const resource = `${path}/serviceAccounts/${email}:testIamPermissions`;
      const found = await ask<Granted>('iam', resource, { permissions: ['iam.serviceAccounts.actAs'] });
      if (found?.permissions?.length === 1 || (found === undefined && email === appEngine)) return undefined;
      const grant = `gcloud iam service-accounts add-iam-policy-binding ${email} --project ${projectId}`;
      const fix = `${grant} --member=<deployer> --role=roles/iam.serviceAccountUser`;
      return [found === undefined ? 'no such account' : 'not granted', fix];
    },
  ]);
  return [...roles, ...ofSecrets, ...accounts];
}
