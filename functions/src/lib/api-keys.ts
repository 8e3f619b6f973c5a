/** What the API key setting holds. */
export interface ApiKeySetting {
  keys: string[];
  /** Numbers, from 1, of the lines that are neither a key, a comment nor blank. */
  invalidLines: number[];
}

/**
 * Parses the API key setting: one key per line, so that a new one can be added before the old one is
 * removed. A line that begins with `#` is a comment. Whitespace around a key is ignored. A line with
 * whitespace inside is invalid, and the other lines still work.
 */
export function parseApiKeys(setting: string): ApiKeySetting {
  const lines = setting.split('\n').map((line, i) => ({ text: line.trim(), number: i + 1 }));
  const candidates = lines.filter(({ text }) => text !== '' && !text.startsWith('#'));
  const isKey = ({ text }: { text: string }) => !/\s/.test(text);
  return {
    keys: candidates.filter(isKey).map(({ text }) => text),
    invalidLines: candidates.filter((line) => !isKey(line)).map(({ number }) => number),
  };
}
