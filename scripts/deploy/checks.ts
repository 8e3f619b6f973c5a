import { findOriginProblem } from '../../functions/src/lib/origins';
import { indexes } from '../../firestore.indexes.json';
import { findFederationProblem, type Problem } from './federation';
import { UnreachableError, type AskGoogle, type Policy } from './google-api';

/** What Firebase's tools do not say before they deploy: they find it too late, or never look. */

/** One line of the result. `fix` is the command that supplies what is missing. */
export type Finding =
  | { subject: string; kind: 'ok' }
  | { subject: string; kind: 'missing'; detail: string; fix: string }
  | { subject: string; kind: 'unknown'; detail: string };

export interface Project {
  id: string;
  /** CORS_ALLOWED_ORIGINS of functions/.env.<project>. */
  origins: string;
  ask: AskGoogle;
}

type Requirement = [subject: string, findProblem: () => Promise<Problem | undefined>];

const REGION = 'us-central1';

/** Accounts of the functions, each with the role that it needs, then broader ones. */
export const ACCOUNT_ROLES: Record<string, string[]> = {
  'organisation-data-reader': ['roles/datastore.viewer', 'roles/datastore.user', 'roles/datastore.owner'],
  'price-lists-writer': ['roles/datastore.user', 'roles/datastore.owner'],
};

/** Of the deployer's roles, the permissions that are used only once functions are deployed. */
const DEPLOYER_ROLES: Record<string, string[]> = {
  'roles/cloudfunctions.admin': ['artifactregistry.repositories.get', 'run.services.setIamPolicy'],
  'roles/cloudscheduler.admin': ['create', 'delete', 'get', 'update'].map((verb) => `cloudscheduler.jobs.${verb}`),
};

/** Checks every requirement. Nothing is changed. */
export function runChecks(project: Project): Promise<Finding[]> {
  const requirements: Requirement[] = [
    ['parameter CORS_ALLOWED_ORIGINS', () => Promise.resolve(findOriginsProblem(project))],
    ['clean-up policy of the images', () => findCleanUpProblem(project)],
    ['organisation policy', () => findPolicyProblem(project)],
    ['identity of GitHub', () => findFederationProblem(project.id, project.ask)],
    ...Object.keys(ACCOUNT_ROLES).flatMap((name) => listAccountRequirements(project, name)),
    ['role of the account that builds', () => findBuilderProblem(project)],
    ['role of the agent of Cloud Scheduler', () => findSchedulerProblem(project)],
    ...Object.keys(DEPLOYER_ROLES).map((role): Requirement => [
      `deployer: ${role}`,
      () => findDeployerProblem(project, role),
    ]),
    ...indexes.map((index): Requirement => [
      `index ${describeIndex(index.collectionGroup, index)}`,
      () => findIndexProblem(project, describeIndex(index.collectionGroup, index)),
    ]),
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

/** An instance of get warehouses refuses to start with an origin that no browser sends. */
function findOriginsProblem({ id, origins }: Project): Problem | undefined {
  const each = origins.split(',').map((origin) => origin.trim());
  const problems = each.filter((origin) => origin !== '').map(findOriginProblem);
  const problem = problems.find((found) => found !== undefined);
  return problem === undefined ? undefined : [problem, `edit functions/.env.${id}`];
}

/** Without one firebase-tools deploys, and then fails (its setupArtifactCleanupPolicies). */
async function findCleanUpProblem({ id, ask }: Project): Promise<Problem | undefined> {
  const found = await ask<{ cleanupPolicies?: object; labels?: Record<string, string> }>(
    'artifactregistry',
    `v1/projects/${id}/locations/${REGION}/repositories/gcf-artifacts`,
  );
  const set = `firebase functions:artifacts:setpolicy --location ${REGION} --days 30 --force --project ${id}`;
  if (found === undefined) {
    const create = 'gcloud artifacts repositories create gcf-artifacts --repository-format=docker';
    return ['no repository gcf-artifacts', `${create} --location=${REGION} --project ${id} && ${set}`];
  }
  const isRefused = found.labels?.['firebase-functions-cleanup-opted-out'] === 'true';
  return isRefused || Object.keys(found.cleanupPolicies ?? {}).length > 0 ? undefined : ['not set', set];
}

/** firebase-tools lets allUsers call the operations, which check the API key themselves. */
async function findPolicyProblem({ id, ask }: Project): Promise<Problem | undefined> {
  const constraint = 'constraints/iam.allowedPolicyMemberDomains';
  const path = `v1/projects/${id}:getEffectiveOrgPolicy`;
  const found = await ask<{ listPolicy?: { allValues?: string } }>('cloudresourcemanager', path, { constraint });
  if (found?.listPolicy === undefined || found.listPolicy.allValues === 'ALLOW') return undefined;
  const allowAll = JSON.stringify({ constraint, listPolicy: { allValues: 'ALLOW' } });
  const set = 'gcloud resource-manager org-policies set-policy';
  return [`${constraint} forbids allUsers`, `${set} <(echo '${allowAll}') --project ${id}`];
}

/** An account that a function runs as: it exists, has its role, and the deployer may act as it. */
function listAccountRequirements(project: Project, name: string): Requirement[] {
  const { id, ask } = project;
  const email = `${name}@${id}.iam.gserviceaccount.com`;
  const account = `v1/projects/${id}/serviceAccounts/${email}`;
  return [
    [
      `role of ${name}`,
      async () => {
        if ((await ask('iam', account)) !== undefined) return findRoleProblem(project, email, ACCOUNT_ROLES[name]);
        return ['no such account', `gcloud iam service-accounts create ${name} --project ${id}`];
      },
    ],
    [
      `deployer: acts as ${name}`,
      async () => {
        const permissions = ['iam.serviceAccounts.actAs'];
        const found = await ask<{ permissions?: string[] }>('iam', `${account}:testIamPermissions`, { permissions });
        if (found?.permissions?.length === 1) return undefined;
        const grant = `gcloud iam service-accounts add-iam-policy-binding ${email} --project ${id}`;
        return ['not granted', `${grant} --member=<deployer> --role=roles/iam.serviceAccountUser`];
      },
    ],
  ];
}

/** Projects since July 2024 have an account that builds without a role. */
async function findBuilderProblem(project: Project): Promise<Problem | undefined> {
  const { id, ask } = project;
  const path = `v1/projects/${id}/locations/${REGION}/defaultServiceAccount`;
  const found = await ask<{ serviceAccountEmail?: string }>('cloudbuild', path);
  const email = found?.serviceAccountEmail?.split('/').at(-1);
  const enable = `gcloud services enable cloudbuild.googleapis.com compute.googleapis.com --project ${id}`;
  if (email === undefined) return ['no account', enable];
  // The account of older projects is Google's, and has its role.
  if (email.endsWith('@cloudbuild.gserviceaccount.com')) return undefined;
  return findRoleProblem(project, email, ['roles/cloudbuild.builds.builder', 'roles/editor', 'roles/owner']);
}

/** Google's account that calls the sweep has its role from the start, unless someone took it. */
async function findSchedulerProblem(project: Project): Promise<Problem | undefined> {
  const { id, ask } = project;
  const found = await ask<{ projectNumber: string }>('cloudresourcemanager', `v1/projects/${id}`);
  const email = `service-${found?.projectNumber ?? '<number>'}@gcp-sa-cloudscheduler.iam.gserviceaccount.com`;
  return findRoleProblem(project, email, ['roles/cloudscheduler.serviceAgent']);
}

/** @param roles one of which the account needs; the first is the one to grant */
async function findRoleProblem({ id, ask }: Project, email: string, roles: string[] = []) {
  const policy = await ask<Policy>('cloudresourcemanager', `v1/projects/${id}:getIamPolicy`, {});
  const member = `serviceAccount:${email}`;
  const isGranted = policy?.bindings?.some(({ role, members }) => roles.includes(role) && members.includes(member));
  const [role = ''] = roles;
  return isGranted === true ? undefined : createRoleProblem(id, `${email} lacks ${role}`, member, role);
}

async function findDeployerProblem({ id, ask }: Project, role: string): Promise<Problem | undefined> {
  const permissions = DEPLOYER_ROLES[role] ?? [];
  const path = `v1/projects/${id}:testIamPermissions`;
  const found = await ask<{ permissions?: string[] }>('cloudresourcemanager', path, { permissions });
  const lacking = permissions.filter((permission) => found?.permissions?.includes(permission) !== true);
  if (lacking.length === 0) return undefined;
  return createRoleProblem(id, `lacks ${lacking.join(', ')}`, '<deployer>', role);
}

const createRoleProblem = (projectId: string, detail: string, member: string, role: string): Problem => {
  const grant = `gcloud projects add-iam-policy-binding ${projectId} --condition=None`;
  return [detail, `${grant} --member=${member} --role=${role}`];
};

interface Index {
  queryScope: string;
  fields: { fieldPath: string; order?: string }[];
}

/** Firestore rejects a query whose index is not ready. */
async function findIndexProblem({ id, ask }: Project, wanted: string): Promise<Problem | undefined> {
  const path = `v1/projects/${id}/databases/(default)/collectionGroups/-/indexes`;
  const found = await ask<{ indexes?: (Index & { name: string; state: string })[] }>('firestore', path);
  const stored = found?.indexes?.find((index) => describeIndex(index.name.split('/').at(-3), index) === wanted);
  if (stored?.state === 'READY') return undefined;
  if (stored?.state === 'CREATING') return ['being built', 'wait, and run this command again'];
  return [stored?.state ?? 'not found', `firebase deploy --only firestore:indexes --project ${id}`];
}

/** Firestore adds `__name__` to each index that it stores. */
function describeIndex(collectionGroup = '', { queryScope, fields }: Index): string {
  const own = fields.filter(({ fieldPath }) => fieldPath !== '__name__');
  const columns = own.map(({ fieldPath, order = '' }) => `${fieldPath} ${order}`);
  return [`${collectionGroup} (${queryScope})`, ...columns].join(', ');
}
