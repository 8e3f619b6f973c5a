import { listEmails, type Deployment } from './deployment';
import type { AskGoogle, Policy } from './google-api';
import type { Requirement } from './requirement';

/** Finds members that have more access than any page of the documents gives them. */

const ACTS_AS = 'roles/iam.serviceAccountUser';

/** Roles with which a member of the whole project can get a token or a key of every account. */
const OF_EVERY_ACCOUNT = [
  ACTS_AS,
  'roles/iam.serviceAccountKeyAdmin',
  'roles/iam.serviceAccountTokenCreator',
  'roles/iam.workloadIdentityUser',
];

const isPublic = (member: string): boolean => ['allUsers', 'allAuthenticatedUsers'].includes(member);

const isGoogleAgent = (member: string): boolean => /@gcp-sa-|@cloudservices\.gserviceaccount\.com$/.test(member);

const listGrants = (policy?: Policy): { role: string; member: string }[] =>
  policy?.bindings?.flatMap(({ role, members }) => members.map((member) => ({ role, member }))) ?? [];

/** Checks that nobody can read the data without an invitation. */
export const checkPublicMembers = ({ projectId }: Deployment, ask: AskGoogle): Requirement => [
  'public members',
  async () => {
    const policy = await ask<Policy>('cloudresourcemanager', `v1/projects/${projectId}:getIamPolicy`, {});
    const found = listGrants(policy).find(({ member }) => isPublic(member));
    if (found === undefined) return undefined;
    const fix = `gcloud projects remove-iam-policy-binding ${projectId} --member=${found.member} --role=${found.role}`;
    return [`${found.member} has ${found.role} in the whole project`, fix];
  },
];

/** Warns of members that can act as an account of the functions. Only the people and accounts that deploy need that. */
export const checkActors = (deployment: Deployment, ask: AskGoogle): Requirement => [
  'members that act as the accounts',
  async () => {
    const { projectId } = deployment;
    const path = `v1/projects/${projectId}`;
    const project = await ask<Policy>('cloudresourcemanager', `${path}:getIamPolicy`, {});
    for (const { role, member } of listGrants(project)) {
      if (!OF_EVERY_ACCOUNT.includes(role) || isGoogleAgent(member)) continue;
      const fix = `gcloud projects remove-iam-policy-binding ${projectId} --member=${member} --role=${role}`;
      return [`${member} has ${role} in the whole project`, `unless it deploys everything: ${fix}`];
    }
    for (const email of listEmails(deployment)) {
      const policy = await ask<Policy>('iam', `${path}/serviceAccounts/${email}:getIamPolicy`, {});
      for (const { role, member } of listGrants(policy)) {
        const isDeployer = role === ACTS_AS && /^(group|serviceAccount|user):/.test(member);
        if (isDeployer || isGoogleAgent(member)) continue;
        const remove = `gcloud iam service-accounts remove-iam-policy-binding ${email} --project ${projectId}`;
        return [`${member} has ${role} on ${email}`, `${remove} --member=${member} --role=${role}`];
      }
    }
    return undefined;
  },
];
