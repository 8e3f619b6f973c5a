import { parseApiKeys } from '../../functions/src/lib/api-keys';
import { REGION } from '../../functions/src/lib/region';
import type { AskGoogle } from './google-api';
import { listAll, type Requirement } from './requirement';

/** A shorter key can be easy to guess. */
const MIN_KEY_CHARACTERS = 20;

const setKeys = (projectId: string) =>
  `firebase functions:secrets:set API_KEY --data-file keys.txt --project ${projectId}`;

/** Reads the API keys of a version, by default those that the next deployment makes valid. They are never printed. */
async function readApiKeys(projectId: string, ask: AskGoogle, version = 'latest') {
  const path = `v1/projects/${projectId}/secrets/API_KEY/versions/${version}:access`;
  const found = await ask<{ payload?: { data?: string } }>('secretmanager', path);
  return found && parseApiKeys(Buffer.from(found.payload?.data ?? '', 'base64').toString());
}

export const checkKeyLines = (projectId: string, ask: AskGoogle): Requirement => [
  'API keys in the secret',
  async () => {
    const found = await readApiKeys(projectId, ask);
    if (found === undefined) return ['there is no secret API_KEY', setKeys(projectId)];
    const lines = found.invalidLines.join(', ');
    if (lines !== '') return [`the service would ignore line ${lines}`, setKeys(projectId)];
    return found.keys.length === 0 ? ['there is none', setKeys(projectId)] : undefined;
  },
];

export const checkPlainKeys = (projectId: string, ask: AskGoogle): Requirement => [
  'API keys as digests',
  async () => {
    const plain = (await readApiKeys(projectId, ask))?.plainKeys ?? [];
    const short = plain.filter((key) => key.length < MIN_KEY_CHARACTERS);
    const detail = `plain keys: ${plain.length}, with fewer than ${MIN_KEY_CHARACTERS} characters: ${short.length}`;
    const fix = 'replace them by names with digests: docs/deployment.md, section "Key rotation"';
    return plain.length === 0 ? undefined : [detail, fix];
  },
];

/** Lists the versions of the secret with which functions are deployed. */
async function listDeployedVersions(projectId: string, ask: AskGoogle): Promise<Set<string>> {
  interface DeployedFunction {
    serviceConfig?: { secretEnvironmentVariables?: { secret: string; version: string }[] };
  }
  const path = `v2/projects/${projectId}/locations/${REGION}/functions?pageSize=1000`;
  const functions = await listAll<DeployedFunction>(ask, 'cloudfunctions', path, 'functions');
  const secrets = functions.flatMap(({ serviceConfig }) => serviceConfig?.secretEnvironmentVariables ?? []);
  return new Set(secrets.filter(({ secret }) => secret === 'API_KEY').map(({ version }) => version));
}

/** Warns of a name on several lines, and of names whose keys a deployment would make invalid. After a mistake in a rotation, all clients but one can lose theirs. */
export const checkKeyNames = (projectId: string, ask: AskGoogle): Requirement => [
  'names of the API keys',
  async () => {
    const names = (await readApiKeys(projectId, ask))?.keys.map(({ name }) => name) ?? [];
    const repeated = names.filter((name, i) => names.indexOf(name) !== i);
    const lacking = new Set<string>();
    for (const version of await listDeployedVersions(projectId, ask)) {
      // Google refuses to read a version that is disabled or destroyed.
      const path = `v1/projects/${projectId}/secrets/API_KEY/versions/${version}`;
      const isReadable = (await ask<{ state: string }>('secretmanager', path))?.state === 'ENABLED';
      const keys = isReadable ? (await readApiKeys(projectId, ask, version))?.keys : undefined;
      for (const { name } of keys ?? []) if (!names.includes(name)) lacking.add(name);
    }
    const details = [
      ...(lacking.size === 0 ? [] : [`deployed, but not in the newest version: ${[...lacking].join(', ')}`]),
      ...(repeated.length === 0 ? [] : [`on several lines: ${[...new Set(repeated)].join(', ')}`]),
    ];
    const fix = 'unless this is intended, correct the lines: docs/deployment.md, section "Key rotation"';
    return details.length === 0 ? undefined : [details.join('; '), fix];
  },
];
