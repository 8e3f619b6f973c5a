import * as z from 'zod';
import { parseApiKeys } from '../../functions/src/lib/api-keys';
import { REGION } from '../../functions/src/lib/region';
import type { AskGoogle } from './google-api';
import { listAll, type Problem, type Requirement } from './requirement';

/** A shorter API key may be easy to guess. */
const MIN_KEY_CHARACTERS = 20;

const setKeys = (projectId: string) =>
  `firebase functions:secrets:set API_KEY --data-file keys.txt --project ${projectId}`;

const accessSchema = z.object({ payload: z.object({ data: z.string().optional() }).optional() });
const versionSchema = z.object({ name: z.string().optional(), state: z.string() });
const functionSchema = z.object({
  serviceConfig: z
    .object({
      secretEnvironmentVariables: z.array(z.object({ secret: z.string(), version: z.string() })).optional(),
    })
    .optional(),
});

const versionPath = (projectId: string, version: string) =>
  `v1/projects/${projectId}/secrets/API_KEY/versions/${version}`;

/** Says why a version of the secret cannot be read, and what to do. @returns undefined if it can be read, or does not exist */
async function findUnreadable(projectId: string, ask: AskGoogle, version: string): Promise<Problem | undefined> {
  const found = await ask('secretmanager', versionPath(projectId, version), versionSchema);
  if (found === undefined || found.state === 'ENABLED') return undefined;
  const number = found.name?.split('/').at(-1) ?? version;
  const options = `--secret=API_KEY --project ${projectId}`;
  const enable = `gcloud secrets versions enable ${number} ${options}`;
  const list = `take the newest enabled version as the base of the next one, so that the next one has the API keys of all clients: gcloud secrets versions list API_KEY --filter=state=enabled --project ${projectId}`;
  return [`version ${number} is ${found.state}`, found.state === 'DISABLED' ? enable : list];
}

/** Reads the API keys of a version, by default of the version that the next deployment uses. The program never prints them. */
async function readApiKeys(projectId: string, ask: AskGoogle, version = 'latest') {
  // Google refuses to read a version that is disabled or destroyed.
  if ((await findUnreadable(projectId, ask, version)) !== undefined) return undefined;
  const found = await ask('secretmanager', `${versionPath(projectId, version)}:access`, accessSchema);
  return found && parseApiKeys(Buffer.from(found.payload?.data ?? '', 'base64').toString());
}

export const checkKeyLines = (projectId: string, ask: AskGoogle): Requirement => [
  'API keys in the secret',
  async () => {
    const unreadable = await findUnreadable(projectId, ask, 'latest');
    if (unreadable !== undefined) return unreadable;
    const found = await readApiKeys(projectId, ask);
    if (found === undefined) return ['there is no version of the secret API_KEY', setKeys(projectId)];
    const lines = found.invalidLines.join(', ');
    if (lines !== '') return [`the service would ignore these lines: ${lines}`, setKeys(projectId)];
    if (found.keys.length === 0) return ['there are none', setKeys(projectId)];
    return { fact: found.keys.map(({ name }) => name).join(', ') };
  },
];

export const checkPlainKeys = (projectId: string, ask: AskGoogle): Requirement => [
  'API keys as digests',
  async () => {
    const plain = (await readApiKeys(projectId, ask))?.plainKeys ?? [];
    const short = plain.filter((key) => key.length < MIN_KEY_CHARACTERS);
    const detail = `plain API keys: ${plain.length}, with fewer than ${MIN_KEY_CHARACTERS} characters: ${short.length}`;
    const fix = 'replace each with a name and a digest: docs/deployment.md, section "API key rotation"';
    return plain.length === 0 ? undefined : [detail, fix];
  },
];

/** Lists the versions of the secret with which functions are deployed. */
async function listDeployedVersions(projectId: string, ask: AskGoogle): Promise<Set<string>> {
  const path = `v2/projects/${projectId}/locations/${REGION}/functions?pageSize=1000`;
  const functions = await listAll(ask, 'cloudfunctions', path, 'functions', functionSchema);
  const secrets = functions.flatMap(({ serviceConfig }) => serviceConfig?.secretEnvironmentVariables ?? []);
  return new Set(secrets.filter(({ secret }) => secret === 'API_KEY').map(({ version }) => version));
}

/**
 * Warns of a deployed version that cannot be read, of a name on several lines, and of deployed names that the newest version lacks,
 * because a mistake in a rotation can make the API keys of all clients but one invalid.
 */
export const checkKeyNames = (projectId: string, ask: AskGoogle): Requirement => [
  'names of the API keys',
  async () => {
    const newest = await readApiKeys(projectId, ask);
    const names = newest?.keys.map(({ name }) => name) ?? [];
    const repeated = names.filter((name, i) => names.indexOf(name) !== i);
    const lacking = new Set<string>();
    const unreadable: Problem[] = [];
    for (const version of await listDeployedVersions(projectId, ask)) {
      const problem = await findUnreadable(projectId, ask, version);
      if (problem !== undefined) unreadable.push(problem);
      // If the newest version cannot be read, checkKeyLines reports that, and here every name would seem to be lacking.
      const deployed = newest === undefined ? undefined : await readApiKeys(projectId, ask, version);
      for (const { name } of deployed?.keys ?? []) if (!names.includes(name)) lacking.add(name);
    }
    const details = [
      ...unreadable.map(([detail]) => `${detail}, but functions are deployed with it, so their instances cannot start`),
      ...(lacking.size === 0 ? [] : [`deployed, but not found in the newest version: ${[...lacking].join(', ')}`]),
      ...(repeated.length === 0 ? [] : [`on several lines: ${[...new Set(repeated)].join(', ')}`]),
    ];
    const fixes = unreadable.map(([, fix]) => fix);
    const fix = 'correct what is not intended: docs/deployment.md, section "API key rotation"';
    return details.length === 0 ? undefined : [details.join('; '), [...fixes, fix].join('; ')];
  },
];
