import type { DeployManifest } from './manifest';

/**
 * What firebase-tools 15.34.2 makes of a manifest, restated from its source so that a test needs no 240 MB of it.
 * scripts/deploy/verify-plan.ts compares it with the real one.
 */

/** Members by secret. */
export type SecretMembers = Record<string, string[]>;

/**
 * Members that a deployment grants the role secretAccessor on each secret, as sent to Secret Manager:
 * lib/deploy/functions/ensure.js, `secretsToServiceAccounts`, and lib/gcp/secretManager.js, `checkServiceAgentRole`.
 */
export function planSecretMembers({ endpoints }: DeployManifest, projectId: string): SecretMembers {
  const members: SecretMembers = {};
  for (const [name, { serviceAccountEmail, secretEnvironmentVariables = [] }] of Object.entries(endpoints)) {
    if (serviceAccountEmail === undefined) throw new Error(`${name} has no service account of its own`);
    const member = `serviceAccount:${resolveExpressions(serviceAccountEmail, projectId)}`;
    for (const { key } of secretEnvironmentVariables) {
      members[key] = [...new Set([...(members[key] ?? []), member])];
    }
  }
  return members;
}

/** Service accounts of the functions, without repetition. */
export const planServiceAccounts = ({ endpoints }: DeployManifest, projectId: string): string[] => [
  ...new Set(
    Object.values(endpoints).flatMap(({ serviceAccountEmail }) =>
      serviceAccountEmail === undefined ? [] : [resolveExpressions(serviceAccountEmail, projectId)],
    ),
  ),
];

/** lib/deploy/functions/params.js, `resolveString`, with the built-in parameters of `populateDefaultParams`. */
function resolveExpressions(text: string, projectId: string): string {
  return text.replaceAll(/\{\{ .+? \}\}/g, (expression) => {
    const parameter = /^\{\{ params\.(\S+) \}\}$/.exec(expression)?.[1];
    if (parameter !== 'PROJECT_ID' && parameter !== 'GCLOUD_PROJECT') throw new Error(`${expression} is not resolved`);
    return projectId;
  });
}
