import { sha256 } from './sha256';

export interface ApiKey {
  /** Identifies the API key in log lines and records. For a plain API key it is the first 8 hex digits of the digest. */
  name: string;
  /** The SHA-256 of the API key in UTF-8. */
  digest: Buffer;
}

export interface ApiKeySetting {
  keys: ApiKey[];
  /** The API keys that the setting holds as text instead of as a digest. */
  plainKeys: string[];
  /** Numbers, from 1, of the lines that {@link parseApiKeys} ignores as invalid. */
  invalidLines: number[];
}

const NAMED_DIGEST = /^([a-z\d-]{1,32}):([\da-fA-F]{64})$/;

/** The digest of an empty API key. The service accepts no empty API key, so a line with this digest is a mistake. */
const DIGEST_OF_NOTHING = sha256('');

/** A digest without its name. As a plain API key, it would open the service to anyone who has read the digest. */
const DIGEST_ALONE = /^[\da-fA-F]{64}$/;

/**
 * Parses the setting of API keys: one per line, so that a new one can be added before the old one is removed. A line is
 * a name with a digest, such as `acme:<64 hex digits>`, or a plain API key, which has no whitespace and no colon. A line
 * that begins with `#` is a comment. Empty lines and whitespace around a line are ignored. Any other line is invalid, and
 * so is the digest of an empty API key or a digest without a name. The valid lines still work.
 */
export function parseApiKeys(setting: string): ApiKeySetting {
  const parsed: ApiKeySetting = { keys: [], plainKeys: [], invalidLines: [] };
  for (const [i, line] of setting.split('\n').entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const [, name, hex = ''] = NAMED_DIGEST.exec(text) ?? [];
    const digest = Buffer.from(hex, 'hex');
    if (name !== undefined && !digest.equals(DIGEST_OF_NOTHING)) {
      parsed.keys.push({ name, digest });
    } else if (/[\s:]/.test(text) || DIGEST_ALONE.test(text)) {
      parsed.invalidLines.push(i + 1);
    } else {
      const plainDigest = sha256(text);
      parsed.keys.push({ name: plainDigest.toString('hex').slice(0, 8), digest: plainDigest });
      parsed.plainKeys.push(text);
    }
  }
  return parsed;
}
