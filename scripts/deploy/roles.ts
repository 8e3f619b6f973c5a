import { REGION } from '../../functions/src/lib/region';
import { listEmails, type Deployment } from './deployment';
import { GoogleRequestError, type AskGoogle, type Policy } from './google-api';
import type { Problem, Requirement } from './requirement';

/** The roles of the functions' accounts, of the account that builds them, and of the deployer. */

/** The deployer's roles in the project, each with the permissions that firebase-tools and this check use. */
const DEPLOYER_ROLES: Record<string, [resource: string, verbs: string][]> = {
  'roles/cloudfunctions.admin': [
    ['artifactregistry.repositories', 'get'],
    ['cloudbuild.builds', 'get'],
    ['cloudfunctions.functions', 'create delete get list setIamPolicy sourceCodeSet update'],
    ['cloudfunctions.operations', 'get'],
    ['run.services', 'get getIamPolicy setIamPolicy'],
  ],
  'roles/cloudscheduler.admin': [['cloudscheduler.jobs', 'create delete get update']],
  // Since March 2026 the role has these instead of `datastore.indexes`, which firebase-tools 15.34 still tests without effect.
  'roles/datastore.indexAdmin': [['datastore.schemas', 'create delete list update']],
  // Each product's viewer role has this permission. That of Firebase as a whole also reads the data.
  'roles/firebasehosting.viewer': [['firebase.projects', 'get']],
  // With the viewer's role, the workflow cannot replace the rules of a shared project.
  'roles/firebaserules.viewer': [
    ['firebaserules.releases', 'get'],
    ['firebaserules.rulesets', 'get test'],
  ],
  'roles/iam.securityReviewer': [['iam.serviceAccounts', 'getIamPolicy list']],
  'roles/orgpolicy.policyViewer': [['orgpolicy.policy', 'get']],
  'roles/serviceusage.serviceUsageAdmin': [['serviceusage.services', 'enable get use']],
};

/**
 * The deployer's roles, only on the secret. firebase-tools lets the accounts of the functions read the secret at the first
 * deployment, which the owner makes. After that it only looks.
 */
const SECRET_ROLES: Record<string, string[]> = {
  'roles/secretmanager.secretAccessor': ['secretmanager.versions.access'],
  'roles/secretmanager.viewer': [
    'secretmanager.secrets.get',
    'secretmanager.secrets.getIamPolicy',
    'secretmanager.versions.get',
  ],
};

/** The roles of the functions' accounts, by name. */
const ACCOUNT_ROLES: Record<string, string> = {
  'organisation-data-reader': 'roles/datastore.viewer',
  'price-lists-writer': 'roles/datastore.user',
};

const BUILDER_ROLE = 'roles/cloudbuild.builds.builder';

const grantInProject = (projectId: string, member: string, role: string): string =>
  `gcloud projects add-iam-policy-binding ${projectId} --condition=None --member=${member} --role=${role}`;

/** Returns the address of the account that builds the functions; undefined for Cloud Build's own, which has the role; '' if unknown. */
async function readBuilder(projectId: string, ask: AskGoogle): Promise<string | undefined> {
  const path = `v1/projects/${projectId}/locations/${REGION}/defaultServiceAccount`;
  const found = await ask<{ serviceAccountEmail?: string }>('cloudbuild', path);
  const email = found?.serviceAccountEmail?.split('/').at(-1) ?? '';
  return email.endsWith('@cloudbuild.gserviceaccount.com') ? undefined : email;
}

/** Lists the roles in the project that the accounts need. */
export function listRoles(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  const path = `v1/projects/${projectId}`;
  const findProblem = async (email: string, role: string): Promise<Problem | undefined> => {
    const policy = await ask<Policy>('cloudresourcemanager', `${path}:getIamPolicy`, {});
    const member = `serviceAccount:${email}`;
    const isGranted = policy?.bindings?.some((each) => each.role === role && each.members.includes(member)) ?? false;
    return isGranted ? undefined : [`${email} lacks ${role}`, grantInProject(projectId, member, role)];
  };
  return [
    ...listEmails(deployment).map((email): Requirement => {
      const name = email.replace(/@.*/, '');
      return [`role of ${name}`, () => findProblem(email, getAccountRole(name))];
    }),
    [
      'role of the account that builds',
      async () => {
        const email = await readBuilder(projectId, ask);
        if (email === undefined) return undefined;
        const account = await ask('iam', `${path}/serviceAccounts/${email || '-'}`);
        const enable = `gcloud services enable cloudbuild.googleapis.com compute.googleapis.com --project ${projectId}`;
        return account === undefined ? [`no account ${email}`, enable] : findProblem(email, BUILDER_ROLE);
      },
    ],
  ];
}

function getAccountRole(name: string): string {
  const role = ACCOUNT_ROLES[name];
  if (role === undefined) throw new Error(`The role of ${name} is not in ACCOUNT_ROLES.`);
  return role;
}

/** Permissions that no role of the deployer has: to read data, and to grant rights. */
const NOT_FOR_DEPLOYER = ['datastore.entities.get', 'resourcemanager.projects.setIamPolicy'];

/** Warns of accounts with more rights than they need, including rights from a folder or the organisation. */
export function listBroadRoles(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId } = deployment;
  const findProblem = async (email: string | undefined, needed: string, isBroad: (role: string) => boolean) => {
    if (email === undefined) return undefined;
    const member = `serviceAccount:${email}`;
    for (const { name, command, policy } of await readPolicies(projectId, ask)) {
      const broad = policy.bindings?.find(({ role, members }) => members.includes(member) && isBroad(role))?.role;
      if (broad === undefined) continue;
      const remove = `${command} remove-iam-policy-binding ${name} --condition=None --member=${member} --role=${broad}`;
      const enough = needed === '' ? '' : `; ${needed} is enough`;
      const first = needed === '' ? '' : `${grantInProject(projectId, member, needed)} && `;
      return [
        `${email} has ${broad} in ${name}${enough}`,
        `if nothing else needs it: ${first}${remove}`,
      ] satisfies Problem;
    }
    return undefined;
  };
  const isBasic = (role: string) => role === 'roles/editor' || role === 'roles/owner';
  return [
    ...listEmails(deployment).map((email): Requirement => {
      const name = email.replace(/@.*/, '');
      const needed = getAccountRole(name);
      return [`least role of ${name}`, () => findProblem(email, needed, (role) => role !== needed)];
    }),
    [
      'least role of the account that builds',
      async () => findProblem(await readBuilder(projectId, ask), BUILDER_ROLE, isBasic),
    ],
    // The deployer acts as this account, because firebase-tools requires it.
    ['least role of App Engine', () => findProblem(getAppEngineAccount(projectId), '', isBasic)],
    [
      'least roles of the deployer',
      async () => {
        const path = `v1/projects/${projectId}:testIamPermissions`;
        const found = await ask<{ permissions?: string[] }>('cloudresourcemanager', path, {
          permissions: NOT_FOR_DEPLOYER,
        });
        const granted = found?.permissions ?? [];
        const fix =
          'after the first deployment use an account with only the roles in docs/security.md, section "Roles"';
        return granted.length === 0 ? undefined : [`also has ${granted.join(', ')}`, fix];
      },
    ],
  ];
}

/** Reads the policy of the project, and those of its folders and organisation if the credentials of this command allow it. */
async function readPolicies(projectId: string, ask: AskGoogle) {
  interface Ancestry {
    ancestor?: { resourceId: { type: 'project' | 'folder' | 'organization'; id: string } }[];
  }
  const COMMANDS = { folder: 'gcloud resource-manager folders', organization: 'gcloud organizations' };
  const project = await ask<Policy>('cloudresourcemanager', `v1/projects/${projectId}:getIamPolicy`, {});
  const ancestry = await ask<Ancestry>('cloudresourcemanager', `v1/projects/${projectId}:getAncestry`, {});
  const above = (ancestry?.ancestor ?? []).map(async ({ resourceId: { type, id } }) => {
    if (type === 'project') return [];
    const policy = await ask<Policy>('cloudresourcemanager', `v3/${type}s/${id}:getIamPolicy`, {}).catch(
      (error: unknown) => {
        if (error instanceof GoogleRequestError) return undefined;
        throw error;
      },
    );
    return policy === undefined ? [] : [{ name: id, command: COMMANDS[type], policy }];
  });
  return [{ name: projectId, command: 'gcloud projects', policy: project ?? {} }, ...(await Promise.all(above)).flat()];
}

const getAppEngineAccount = (projectId: string): string => `${projectId}@appspot.gserviceaccount.com`;

/** Lists the permissions that the deployer needs. The APIs test them for the credentials of this command. */
export function listDeployerPermissions(deployment: Deployment, ask: AskGoogle): Requirement[] {
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
  const rolesOfSecrets = secrets.flatMap(({ name }) =>
    Object.entries(SECRET_ROLES).map(([role, permissions]) => ({ name, role, permissions })),
  );
  const ofSecrets = rolesOfSecrets.map(({ name, role, permissions }): Requirement => [
    `deployer: ${role} on the secret ${name}`,
    async () => {
      const resource = `${path}/secrets/${name}:testIamPermissions`;
      const found = await ask<Granted>('secretmanager', resource, { permissions });
      const lacking = permissions.filter((permission) => found?.permissions?.includes(permission) !== true);
      const grant = `gcloud secrets add-iam-policy-binding ${name} --project ${projectId}`;
      return lacking.length === 0
        ? undefined
        : [`lacks ${lacking.join(', ')}`, `${grant} --member=<deployer> --role=${role}`];
    },
  ]);
  // firebase-tools also requires that the deployer can act as App Engine's default account, if the project has one.
  const appEngine = getAppEngineAccount(projectId);
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
