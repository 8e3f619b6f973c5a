import type { AskGoogle } from './google-api';

export type Problem = [detail: string, fix: string];

/** Something that a deployment needs. `findProblem` returns undefined if it is there. */
export type Requirement = [subject: string, findProblem: () => Promise<Problem | undefined> | Problem | undefined];

interface Page {
  nextPageToken?: string;
}

/** Reads all pages of a list. @returns its elements, none if the resource does not exist */
export async function listAll<T>(ask: AskGoogle, api: string, path: string, field: string): Promise<T[]> {
  const found: T[] = [];
  let pageToken = '';
  do {
    const token = pageToken === '' ? '' : `${path.includes('?') ? '&' : '?'}pageToken=${encodeURIComponent(pageToken)}`;
    const page = await ask<Page & Record<string, T[] | undefined>>(api, `${path}${token}`);
    found.push(...(page?.[field] ?? []));
    pageToken = page?.nextPageToken ?? '';
  } while (pageToken !== '');
  return found;
}
