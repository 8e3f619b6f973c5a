import { createHash, timingSafeEqual } from 'node:crypto';

const KEY_ID_LENGTH = 8;

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/**
 * Finds the configured API key that a header holds.
 *
 * Compares SHA-256 digests in constant time, every configured API key each time. So the response time reveals neither a
 * part of an API key, nor its length, nor which one matched.
 *
 * @returns the first 8 hex digits of the API key's SHA-256, which identify it in the log; undefined for an invalid one
 */
export function identifyApiKey(header: string | undefined, apiKeys: readonly string[]): string | undefined {
  const candidate = sha256(header ?? '');
  const isValid = apiKeys.map((apiKey) => timingSafeEqual(sha256(apiKey), candidate)).includes(true);
  const keyId = candidate.toString('hex', 0, KEY_ID_LENGTH / 2);
  return isValid ? keyId : undefined;
}
