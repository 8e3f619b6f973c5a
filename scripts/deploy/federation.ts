import type { AskGoogle, Policy } from './google-api';
import { listAll, type Problem } from './requirement';

/** The pool of docs/deployment.md#deploy-from-github. */
const POOL = 'locations/global/workloadIdentityPools/github';

/**
 * The only accepted form of a provider's condition. It compares the environments, and the ids of owner and repository, which
 * GitHub never reuses. Names can change hands, and the text of `sub` changed its form in 2026.
 */
const CONDITION =
  /^assertion\.repository_owner_id == '\d+' && assertion\.repository_id == '\d+' && assertion\.environment in \['[\w-]+'(, '[\w-]+')*\]$/;

const UPDATE =
  'gcloud iam workload-identity-pools providers update-oidc $id --location=global --workload-identity-pool=github ' +
  '--attribute-mapping=google.subject=assertion.sub,attribute.environment=assertion.environment,' +
  'attribute.repository_id=assertion.repository_id,attribute.repository_owner_id=assertion.repository_owner_id ' +
  `--attribute-condition="assertion.repository_owner_id == '<owner id>' && assertion.repository_id == '<repository id>' && assertion.environment in ['production', 'audit']"`;

interface Provider {
  name: string;
  disabled?: boolean;
  attributeMapping?: Record<string, string>;
  attributeCondition?: string;
}

/**
 * Finds the first setting that can let a GitHub job do more than its environment allows. An enabled provider must have the
 * {@link CONDITION} and map the environment. No member of the pool may have a role in the project. On an account, a member
 * must be a single environment, which can act as no other account. A project without the pool has no such setting.
 */
export async function findFederationProblem(projectId: string, ask: AskGoogle): Promise<Problem | undefined> {
  const path = `v1/projects/${projectId}`;
  const providers = await listAll<Provider>(ask, 'iam', `${path}/${POOL}/providers`, 'workloadIdentityPoolProviders');
  for (const { name, disabled, attributeMapping, attributeCondition } of providers) {
    const isNarrow = CONDITION.test(attributeCondition ?? '');
    const isMapped = attributeMapping?.['attribute.environment'] === 'assertion.environment';
    if (disabled === true || (isNarrow && isMapped)) continue;
    const id = name.split('/').at(-1) ?? '';
    const problem = isNarrow
      ? 'does not map the environment'
      : `accepts too much: ${attributeCondition ?? 'no condition'}`;
    return [`provider ${id} ${problem}`, `${UPDATE.replace('$id', id)} --project ${projectId}`];
  }

  const project = await ask<Policy>('cloudresourcemanager', `${path}:getIamPolicy`, {});
  const [wide] = listMembersOfPool(project);
  if (wide !== undefined) {
    const fix = `gcloud projects remove-iam-policy-binding ${projectId} --member='${wide.member}' --role=${wide.role}`;
    return [`${wide.member} has ${wide.role} in the whole project`, fix];
  }

  const accounts = await listAll<{ email: string }>(ask, 'iam', `${path}/serviceAccounts?pageSize=100`, 'accounts');
  const actsAs = new Map<string, string>();
  for (const { email } of accounts) {
    const policy = await ask<Policy>('iam', `${path}/serviceAccounts/${email}:getIamPolicy`, {});
    for (const { member, role } of listMembersOfPool(policy)) {
      const environment = /\/attribute\.environment\/([\w-]+)$/.exec(member)?.[1];
      const other = environment === undefined ? undefined : actsAs.get(environment);
      if (environment === undefined || other !== undefined) {
        const remove = `gcloud iam service-accounts remove-iam-policy-binding ${email} --project ${projectId}`;
        const also = other === undefined ? '' : ` and ${other}`;
        return [`${member} acts as ${email}${also}`, `${remove} --member='${member}' --role=${role}`];
      }
      actsAs.set(environment, email);
    }
  }
  return undefined;
}

function listMembersOfPool(policy?: Policy): { member: string; role: string }[] {
  const members = policy?.bindings?.flatMap(({ role, members }) => members.map((member) => ({ member, role }))) ?? [];
  return members.filter(({ member }) => /^principal(Set)?:/.test(member) && member.includes(`/${POOL}/`));
}
