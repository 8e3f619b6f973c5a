import { REGION } from '../../functions/src/lib/region';
import { checkKeyLines, checkKeyNames, checkPlainKeys } from './api-keys';
import { checkMinimum, checkNames, checkTraffic, createFunctionReader } from './deployed-functions';
import { getDatabaseId, listEmails, type Deployment } from './deployment';
import { findFederationProblem } from './federation';
import { listFirestoreSettings, listRules } from './firestore';
import { GoogleRequestError, type AskGoogle } from './google-api';
import { checkActors, checkPublicMembers } from './members';
import { checkPause, listParameters } from './parameters';
import type { Requirement } from './requirement';
import { listBroadRoles, listDeployerPermissions, listRoles } from './roles';

/** The result of one check. `fix` is the command or step that solves the problem. A warning stops no deployment. */
export type Finding =
  | { subject: string; kind: 'ok' }
  | { subject: string; kind: 'missing' | 'warning'; detail: string; fix: string }
  | { subject: string; kind: 'unknown'; detail: string };

/** Services that firebase-tools, this check and scripts/create-monitoring.sh call. The manifest names further ones. */
const SERVICES =
  'artifactregistry cloudbilling cloudbuild cloudfunctions cloudresourcemanager compute eventarc firebase firebaserules ' +
  'firestore iam logging monitoring orgpolicy pubsub run secretmanager serviceusage storage';

/** Checks every requirement. Changes nothing. */
export function runChecks(deployment: Deployment, ask: AskGoogle): Promise<Finding[]> {
  const { projectId, parameters, keepRules, rules } = deployment;
  const readFunctions = createFunctionReader(deployment, ask);
  const requirements = [
    ...listParameters(deployment),
    ...listResources(deployment, ask),
    checkKeyLines(projectId, ask),
    ...listSettings(deployment, ask),
    ...listRoles(deployment, ask),
    ...listFirestoreSettings(deployment, ask),
    ...(keepRules ? [] : [listRules({ projectId, databaseId: getDatabaseId(deployment), rules }, ask)]),
    checkNames(readFunctions),
    checkPublicMembers(deployment, ask),
    ...listDeployerPermissions(deployment, ask),
  ];
  const warnings = [
    checkMinimum(deployment, readFunctions),
    checkTraffic(deployment, readFunctions, ask),
    ...listBroadRoles(deployment, ask),
    checkPlainKeys(projectId, ask),
    checkKeyNames(projectId, readFunctions, ask),
    checkActors(deployment, ask),
    checkPause(parameters),
  ];
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
    if (error instanceof GoogleRequestError) return { subject, kind: 'unknown', detail: error.message };
    throw error;
  }
}

/** Lists resources that must exist, each with the required value of one field. */
function listResources(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId, manifest } = deployment;
  const path = `v1/projects/${projectId}`;
  const database = 'gcloud firestore databases';
  const databaseId = getDatabaseId(deployment);
  const named = `--database='${databaseId}'`;
  const accounts = 'gcloud iam service-accounts';
  const secrets = manifest.params.filter(({ type }) => type === 'secret');
  /** `fix` creates a missing resource. `change` corrects a resource with another value. */
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

/** A policy of a managed constraint: each rule that is enforced allows only the members that it names. */
interface ManagedPolicy {
  spec?: { rules?: { enforce?: boolean; parameters?: { allowedMemberSubjects?: string[] } }[] };
}

/** Lists the requirements that no single field of a resource shows. */
function listSettings({ projectId, manifest }: Deployment, ask: AskGoogle): Requirement[] {
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
      // Without a policy and without a terminal, firebase-tools fails after it has deployed (promptForCleanupPolicyDays).
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
        if (!isOpen) return [`${constraint} forbids allUsers`, fix];
        const managed = 'iam.managed.allowedPolicyMembers';
        const policy = await ask<ManagedPolicy>(
          'orgpolicy',
          `v2/projects/${projectId}/policies/${managed}:getEffectivePolicy`,
        );
        const rules = policy?.spec?.rules?.filter(({ enforce }) => enforce === true) ?? [];
        const isAllowed = rules.every(({ parameters }) => parameters?.allowedMemberSubjects?.includes('allUsers'));
        return isAllowed ? undefined : [`constraints/${managed} forbids allUsers`, fix];
      },
    ],
    ['identity of GitHub', () => findFederationProblem(projectId, ask)],
  ];
}
