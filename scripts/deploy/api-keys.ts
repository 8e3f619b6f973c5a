import { parseApiKeys } from '../../functions/src/lib/api-keys';
import type { AskGoogle } from './google-api';
import type { Requirement } from './requirement';

/** A shorter key can be easy to guess. */
const MIN_KEY_CHARACTERS = 20;

const setKeys = (projectId: string) =>
  `firebase functions:secrets:set API_KEY --data-file keys.txt --project ${projectId}`;

/** Reads the API keys that the next deployment makes valid. They are never printed. */
async function readApiKeys(projectId: string, ask: AskGoogle) {
  const path = `v1/projects/${projectId}/secrets/API_KEY/versions/latest:access`;
  const found = await ask<{ payload?: { data?: string } }>('secretmanager', path);
  return found && parseApiKeys(Buffer.from(found.payload?.data ?? '', 'base64').toString());
}

export const checkKeyLines = (projectId: string, ask: AskGoogle): Requirement => [
  'API keys in the secret',
  async () => {
    const found = await readApiKeys(projectId, ask);
    if (found === undefined) return undefined;
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
