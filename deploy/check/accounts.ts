import type { Deployment } from './deployment';
import type { AskGoogle, Policy } from './google-api';
import type { Requirement } from './requirement';

/** The accounts of the functions, each with the only role in the project that it needs. */
const ROLES: Record<string, string> = {
  'organisation-data-reader': 'roles/datastore.viewer',
  'price-lists-writer': 'roles/datastore.user',
};

function listAccounts({ manifest: { endpoints }, projectId }: Deployment) {
  const emails = Object.values(endpoints).map(({ serviceAccountEmail }) => serviceAccountEmail);
  return [...new Set(emails)].map((address) => {
    const email = address.replace('{{ params.PROJECT_ID }}', projectId);
    const name = email.replace(/@.*/, '');
    const role = ROLES[name];
    if (role === undefined) throw new Error(`The role of ${name} is not in ROLES.`);
    return { name, email, role };
  });
}

async function readBindings(projectId: string, ask: AskGoogle): Promise<NonNullable<Policy['bindings']>> {
  const policy = await ask<Policy>('cloudresourcemanager', `v1/projects/${projectId}:getIamPolicy`, {});
  return policy?.bindings ?? [];
}

async function readRoles(projectId: string, email: string, ask: AskGoogle): Promise<string[]> {
  const bindings = await readBindings(projectId, ask);
  return bindings.filter(({ members }) => members.includes(`serviceAccount:${email}`)).map(({ role }) => role);
}

const changeRole = (change: 'add' | 'remove', projectId: string, email: string, role: string): string =>
  `gcloud projects ${change}-iam-policy-binding ${projectId} --condition=None --member=serviceAccount:${email} --role=${role}`;

export function listAccountChecks(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  const accounts = listAccounts(deployment);
  return [
    ...accounts.map(({ name, email }): Requirement => [
      `service account ${name}`,
      async () => {
        const found = await ask<{ disabled?: boolean }>('iam', `v1/projects/${projectId}/serviceAccounts/${email}`);
        const command = 'gcloud iam service-accounts';
        if (found === undefined) return ['not found', `${command} create ${name} --project ${projectId}`];
        return found.disabled === true ? ['disabled', `${command} enable ${email} --project ${projectId}`] : undefined;
      },
    ]),
    ...accounts.map(({ name, email, role }): Requirement => [
      `role of ${name}`,
      async () => {
        const roles = await readRoles(projectId, email, ask);
        return roles.includes(role) ? undefined : [`lacks ${role}`, changeRole('add', projectId, email, role)];
      },
    ]),
  ];
}

/** Warns of accounts that have another role in the project. */
export function listLeastRoleChecks(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  return listAccounts(deployment).map(({ name, email, role }): Requirement => [
    `least role of ${name}`,
    async () => {
      const broad = (await readRoles(projectId, email, ask)).find((each) => each !== role);
      if (broad === undefined) return undefined;
      const fix = `if nothing else needs it: ${changeRole('remove', projectId, email, broad)}`;
      return [`has ${broad}; ${role} is enough`, fix];
    },
  ]);
}

const PUBLIC_MEMBERS = ['allUsers', 'allAuthenticatedUsers'];

/** Checks that the project grants no role to everyone. */
export const checkPublicMembers = ({ projectId }: Deployment, ask: AskGoogle): Requirement => [
  'public members',
  async () => {
    for (const { role, members } of await readBindings(projectId, ask)) {
      const member = members.find((each) => PUBLIC_MEMBERS.includes(each));
      if (member === undefined) continue;
      const fix = `gcloud projects remove-iam-policy-binding ${projectId} --member=${member} --role=${role}`;
      return [`${member} has ${role} in the whole project`, fix];
    }
    return undefined;
  },
];
