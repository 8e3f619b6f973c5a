import { createHash, timingSafeEqual } from 'node:crypto';

const sha256 = (text: string) => createHash('sha256').update(text).digest();

/**
 * Whether the header holds one of the configured keys (contract, section 5).
 *
 * Digests are compared, in constant time and each of them every time, so that how long the answer takes tells neither
 * how much of a key was right nor which one it was, nor how long a key is.
 */
export function isValidApiKey(header: string | undefined, keys: readonly string[]): boolean {
  const candidate = sha256(header ?? '');
  return keys.map((key) => timingSafeEqual(sha256(key), candidate)).includes(true);
}
