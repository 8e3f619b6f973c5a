import { findOriginProblem } from '../../functions/src/lib/origins';
import { findFederationProblem, type Problem } from './federation';
import { UnreachableError, type AskGoogle, type Policy } from './google-api';
import type { DeployManifest, ManifestParam } from './manifest';

/** One line of the result. `fix` is the command that supplies what is missing. */
export type Finding =
  | { subject: string; kind: 'ok' }
  | { subject: string; kind: 'missing'; detail: string; fix: string }
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
  /** Whether the deployment will be run with `--force`. */
  force: boolean;
}

export interface DeclaredIndexes {
  indexes: { collectionGroup: string; queryScope: string; fields: IndexField[] }[];
  fieldOverrides: { collectionGroup: string; fieldPath: string }[];
}

interface IndexField {
  fieldPath: string;
  order?: string;
}

type Requirement = [subject: string, findProblem: () => Promise<Problem | undefined>];

const REGION = 'us-central1';

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
    ['run.services', 'getIamPolicy setIamPolicy'],
  ],
  'roles/cloudscheduler.admin': [['cloudscheduler.jobs', 'create delete get update']],
  // Since March 2026 the role has these in place of `datastore.indexes`, for which firebase-tools
  // 15.34 still asks, in vain.
  'roles/datastore.indexAdmin': [['datastore.schemas', 'create delete list update']],
  'roles/firebase.viewer': [['firebase.projects', 'get']],
  'roles/firebaserules.admin': [
    ['firebaserules.releases', 'create list update'],
    ['firebaserules.rulesets', 'create get test'],
  ],
  'roles/iam.securityReviewer': [['iam.serviceAccounts', 'getIamPolicy list']],
  'roles/orgpolicy.policyViewer': [['orgpolicy.policy', 'get']],
  'roles/secretmanager.admin': [
    ['secretmanager.secrets', 'get getIamPolicy setIamPolicy'],
    ['secretmanager.versions', 'access get'],
  ],
  'roles/serviceusage.serviceUsageAdmin': [['serviceusage.services', 'enable get use']],
};

/** Roles of the functions' accounts, by name: the one that is needed, then broader ones. */
const ACCOUNT_ROLES: Record<string, string[]> = {
  'organisation-data-reader': ['roles/datastore.viewer', 'roles/datastore.user', 'roles/datastore.owner'],
  'price-lists-writer': ['roles/datastore.user', 'roles/datastore.owner'],
};

/** Google's own accounts have their role from when the service was enabled, unless someone took it away. */
const AGENT_DOMAINS: Record<string, string> = {
  cloudbuild: 'gcp-sa-cloudbuild',
  cloudfunctions: 'gcf-admin-robot',
  cloudscheduler: 'gcp-sa-cloudscheduler',
  run: 'serverless-robot-prod',
};

/** Checks every requirement. Nothing is changed. */
export function runChecks(deployment: Deployment, ask: AskGoogle): Promise<Finding[]> {
  const requirements = [
    ...listParameters(deployment),
    ...listResources(deployment, ask),
    ...listSettings(deployment, ask),
    ...listRoles(deployment, ask),
    ...listFirestoreSettings(deployment, ask),
    ...listDeployerPermissions(deployment, ask),
  ];
  return Promise.all(requirements.map(check));
}

async function check([subject, findProblem]: Requirement): Promise<Finding> {
  try {
    const problem = await findProblem();
    if (problem === undefined) return { subject, kind: 'ok' };
    const [detail, fix] = problem;
    return { subject, kind: 'missing', detail, fix };
  } catch (error) {
    if (error instanceof UnreachableError) return { subject, kind: 'unknown', detail: error.message };
    throw error;
  }
}

/** Without a terminal firebase-tools stops at a parameter that has no value, even at one with a default. */
function listParameters({ projectId, manifest, parameters }: Deployment): Requirement[] {
  const file = `functions/.env.${projectId}`;
  const findProblem = (param: ManifestParam): Problem | undefined => {
    const value = parameters?.[param.name];
    if (value === undefined)
      return [`not in ${file}`, `echo '${param.name}=${String(param.default ?? '')}' >> ${file}`];
    const problem = findValueProblem(param, value);
    return problem === undefined ? undefined : [problem, `edit ${file}`];
  };
  const settings = manifest.params.filter(({ type }) => type !== 'secret');
  return settings.map((param) => [`parameter ${param.name}`, () => Promise.resolve(findProblem(param))]);
}

/** The rule of https://cloud.google.com/firestore/docs/manage-databases. */
const DATABASE_ID = /^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$/;

/** Returns the database that the functions will use: without a valid value, the default one. */
const getDatabaseId = ({ parameters }: Deployment): string => {
  const id = parameters?.['DATABASE_ID'] ?? '';
  return DATABASE_ID.test(id) ? id : '(default)';
};

function findValueProblem({ name, type }: ManifestParam, value: string): string | undefined {
  if (type === 'int' && !/^\d+$/.test(value)) return `${value} is no number`;
  if (name === 'DATABASE_ID' && !DATABASE_ID.test(value)) return `${value} is not the id of a database`;
  if (name !== 'CORS_ALLOWED_ORIGINS') return undefined;
  const origins = value.split(',').map((origin) => origin.trim());
  const problems = origins.filter((origin) => origin !== '').map(findOriginProblem);
  return problems.find((problem) => problem !== undefined);
}

/** Addresses of the accounts that the functions run as. */
const listEmails = ({ manifest: { endpoints }, projectId }: Deployment): string[] => {
  const emails = Object.values(endpoints).map(({ serviceAccountEmail }) => serviceAccountEmail);
  return [...new Set(emails)].map((email) => email.replace('{{ params.PROJECT_ID }}', projectId));
};

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

/** What is read in its own way. */
function listSettings({ projectId, manifest, runtime, parameters, force }: Deployment, ask: AskGoogle): Requirement[] {
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
    [
      // firebase-tools asks before the bill rises, and stops without a terminal
      // (promptForMinInstances).
      'minimum of instances',
      async () => {
        const wanted = Number(parameters?.['MIN_INSTANCES'] ?? 0);
        if (force || wanted === 0) return undefined;
        interface Functions {
          functions?: { name: string; serviceConfig: { minInstanceCount?: number } }[];
        }
        const found = await ask<Functions>('cloudfunctions', `v2/${location}/functions?pageSize=1000`);
        const operations = Object.entries(manifest.endpoints).filter(
          ([, { httpsTrigger }]) => httpsTrigger !== undefined,
        );
        const rises = operations.some(([id]) => {
          const deployed = found?.functions?.find(({ name }) => name.endsWith(`/${id}`));
          return (deployed?.serviceConfig.minInstanceCount ?? 0) < wanted;
        });
        const fix =
          'deploy once with --force, after this check with --force; in the workflow tick "Raise MIN_INSTANCES"';
        return rises ? [`rises to ${wanted}`, fix] : undefined;
      },
    ],
    ['identity of GitHub', () => findFederationProblem(projectId, ask)],
  ];
}

const grantInProject = (projectId: string, member: string, role: string): string =>
  `gcloud projects add-iam-policy-binding ${projectId} --condition=None --member=${member} --role=${role}`;

/** Roles in the project: of the functions' accounts, of the one that builds them, and of Google's own. */
function listRoles(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  const path = `v1/projects/${projectId}`;
  const findProblem = async (email: string, roles: string[]): Promise<Problem | undefined> => {
    const policy = await ask<Policy>('cloudresourcemanager', `${path}:getIamPolicy`, {});
    const member = `serviceAccount:${email}`;
    const bindings = policy?.bindings?.filter(({ role }) => roles.includes(role)) ?? [];
    const isGranted = bindings.some(({ members }) => members.includes(member));
    const [role = ''] = roles;
    return isGranted ? undefined : [`${email} lacks ${role}`, grantInProject(projectId, member, role)];
  };
  return [
    ...listEmails(deployment).map((email): Requirement => {
      const name = email.replace(/@.*/, '');
      const roles = ACCOUNT_ROLES[name];
      if (roles === undefined) throw new Error(`The role of ${email} is not in ACCOUNT_ROLES.`);
      return [`role of ${name}`, () => findProblem(email, roles)];
    }),
    [
      'role of the account that builds',
      async () => {
        const location = `projects/${projectId}/locations/${REGION}`;
        const found = await ask<{ serviceAccountEmail?: string }>('cloudbuild', `v1/${location}/defaultServiceAccount`);
        const email = found?.serviceAccountEmail?.split('/').at(-1) ?? '';
        // The account of older projects is Google's, and has its role.
        if (email.endsWith('@cloudbuild.gserviceaccount.com')) return undefined;
        const account = await ask('iam', `${path}/serviceAccounts/${email || '-'}`);
        const enable = `gcloud services enable cloudbuild.googleapis.com compute.googleapis.com --project ${projectId}`;
        if (account === undefined) return [`no account ${email}`, enable];
        return findProblem(email, ['roles/cloudbuild.builds.builder', 'roles/editor', 'roles/owner']);
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

function listFirestoreSettings(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId, indexes: declared } = deployment;
  const group = `v1/projects/${projectId}/databases/${getDatabaseId(deployment)}/collectionGroups/-`;
  const deploy = `firebase deploy --only firestore:indexes --project ${projectId}`;
  interface StoredIndexes {
    indexes?: { name: string; queryScope: string; fields: IndexField[]; state: string }[];
  }
  return [
    ...declared.indexes.map(({ collectionGroup, queryScope, fields }): Requirement => {
      const wanted = describeIndex(collectionGroup, queryScope, fields);
      return [
        `index ${wanted}`,
        async () => {
          const found = await ask<StoredIndexes>('firestore', `${group}/indexes`);
          const stored = found?.indexes?.find(
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
        const found = await ask<{ fields?: { name: string }[] }>('firestore', `${group}/fields?filter=${filter}`);
        const exemptions = declared.fieldOverrides.map((each) => `${each.collectionGroup}/fields/${each.fieldPath}`);
        const lacking = exemptions.filter((field) => !found?.fields?.some(({ name }) => name.endsWith(`/${field}`)));
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
  const { projectId } = deployment;
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
  return [...roles, ...accounts];
}
