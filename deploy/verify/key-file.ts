import { readFileSync } from 'node:fs';

/**
 * @returns the first API key of a file, as `fetch` sends it: one character for each byte of its UTF-8
 * @throws Error if the file cannot be read, or has no API key in its first line that is neither blank nor a comment
 */
export function readKeyFile(file: string): string {
  // A file in UTF-16, as `>` of Windows PowerShell writes it, has null characters here.
  const lines = new TextDecoder().decode(readFileSync(file)).split('\n');
  const key = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('#')) ?? '';
  if (!/^[^\s:\p{Cc}\ufffd]+$/u.test(key))
    throw new Error(`${file} does not begin with an API key. Save the API key itself as UTF-8, without spaces.`);
  return Buffer.from(key).toString('latin1');
}
