import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type ApiKey } from '../api-keys';
import { sha256 } from '../sha256';
import { ApiError } from '../errors';

/** @returns the name of the accepted API key. @throws ApiError api_key_not_configured, invalid_api_key */
export function requireApiKey(headers: IncomingHttpHeaders, apiKeys: readonly ApiKey[]): string {
  if (apiKeys.length === 0) throw new ApiError('api_key_not_configured', 'the secret API_KEY has no valid API key');
  // A missing API key counts as an empty one, and an empty one is always invalid.
  const header = headers['x-api-key']?.toString() ?? '';
  const name = header === '' ? undefined : identifyApiKey(header, apiKeys);
  if (name !== undefined) return name;
  const reason = header === '' ? 'no API key in the request' : 'the API key is not a configured one';
  throw new ApiError('invalid_api_key', reason, { headers: { 'WWW-Authenticate': 'ApiKey header="x-api-key"' } });
}

/**
 * Finds the configured API key that a header holds.
 *
 * Compares SHA-256 digests in constant time, with every configured API key each time. So the response
 * time reveals neither a part of an API key, nor its length, nor which API key matched.
 *
 * HTTP does not define how a header encodes characters beyond ASCII: curl sends UTF-8, Python's
 * http.client and `fetch` send Latin-1. Node decodes a header as Latin-1, so its text is compared
 * both as Latin-1 and as UTF-8.
 *
 * @returns the name of the API key; undefined for an invalid API key
 */
export function identifyApiKey(header: string, apiKeys: readonly ApiKey[]): string | undefined {
  const asLatin1 = sha256(header);
  const asUtf8 = sha256(Buffer.from(header, 'latin1'));
  const matches = apiKeys.filter(({ digest }) => {
    const isLatin1 = timingSafeEqual(digest, asLatin1);
    const isUtf8 = timingSafeEqual(digest, asUtf8);
    return isLatin1 || isUtf8;
  });
  return matches[0]?.name;
}
