import { readFileSync } from 'node:fs';

/**
 * @returns the first API key of a file, as `fetch` sends it: one character for each byte of its UTF-8
 * @throws Error if the first line that is neither blank nor a comment is not a key
 */
export function readKeyFile(file: string): string {
  const bytes = readFileSync(file);
  // PowerShell's `>` writes UTF-16.
  const mark = bytes.subarray(0, 2).toString('hex');
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
  const lines = new TextDecoder(encoding).decode(bytes).split('\n');
  const key = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('#')) ?? '';
  if (!/^[^\s:\p{Cc}\ufffd]+$/u.test(key))
    throw new Error(`${file} has no API key in its first line. Save the key itself as UTF-8, without spaces.`);
  return Buffer.from(key).toString('latin1');
}
