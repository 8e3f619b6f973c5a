import * as z from 'zod';
import type { AskGoogle } from './google-api';

export type Problem = [detail: string, fix: string];

/** A result that the program prints although it is no problem. */
export interface Fact {
  fact: string;
}

type Result = Problem | Fact | undefined;

/** Something that a deployment needs or should have. If there is no problem, `findProblem` returns a fact or undefined. */
export type Requirement = [subject: string, findProblem: () => Promise<Result> | Result];

/** Reads all pages of a list. @returns its elements, none if the resource does not exist */
export async function listAll<T>(
  ask: AskGoogle,
  api: string,
  path: string,
  field: string,
  element: z.ZodType<T>,
): Promise<T[]> {
  const pageSchema = z.object({ [field]: z.array(element).optional(), nextPageToken: z.string().optional() });
  const found: T[] = [];
  let pageToken = '';
  do {
    const token = pageToken === '' ? '' : `${path.includes('?') ? '&' : '?'}pageToken=${encodeURIComponent(pageToken)}`;
    const page = await ask(api, `${path}${token}`, pageSchema);
    found.push(...((page?.[field] as T[] | undefined) ?? []));
    pageToken = (page?.['nextPageToken'] as string | undefined) ?? '';
  } while (pageToken !== '');
  return found;
}
