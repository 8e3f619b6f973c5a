import { writeFile } from 'node:fs/promises';

export async function writePages(): Promise<string[]> {
  await Promise.resolve(writeFile);
  return [];
}
