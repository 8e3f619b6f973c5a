import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../errors';

const KEY_ID_LENGTH = 8;

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest();

/** @returns the id of the accepted API key. @throws ApiError api_key_not_configured, invalid_api_key */
export function requireApiKey(headers: IncomingHttpHeaders, apiKeys: readonly string[]): string {
  if (apiKeys.length === 0) throw new ApiError('api_key_not_configured', 'the API key setting holds no key');
  const header = headers['x-api-key']?.toString();
  const keyId = identifyApiKey(header, apiKeys);
  if (keyId !== undefined) return keyId;
  const reason = header === undefined ? 'no API key in the request' : 'the API key is not a configured one';
  throw new ApiError('invalid_api_key', reason, { headers: { 'WWW-Authenticate': 'ApiKey header="x-api-key"' } });
}

/**
 * Finds the configured API key that a header holds.
 *
 * Compares SHA-256 digests in constant time, with every configured API key each time. The response
 * time therefore reveals neither a part of a key, nor its length, nor which key matched.
 *
 * HTTP does not define how a header encodes characters beyond ASCII: curl sends UTF-8, Python's
 * http.client and `fetch` send Latin-1. Node decodes a header as Latin-1, so its text is compared
 * both as Latin-1 and as UTF-8.
 *
 * @returns the first 8 hex digits of the API key's SHA-256, which identify it in the log and in
 * records; undefined for an invalid key
 */
export function identifyApiKey(header: string | undefined, apiKeys: readonly string[]): string | undefined {
  const asLatin1 = sha256(header ?? '');
  const asUtf8 = sha256(Buffer.from(header ?? '', 'latin1'));
  const matches = apiKeys.map((apiKey) => {
    const digest = sha256(apiKey);
    const isLatin1 = timingSafeEqual(digest, asLatin1);
    const isUtf8 = timingSafeEqual(digest, asUtf8);
    return isLatin1 || isUtf8 ? digest : undefined;
  });
  return matches.find((digest) => digest !== undefined)?.toString('hex', 0, KEY_ID_LENGTH / 2);
}
