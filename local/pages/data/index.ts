import type { RequestListener } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';
import type { ViewerSettings } from './settings';
import { DATA_ROOT } from './urls';

/** The data pages: what a Firestore holds, at `/data`, for this machine only. */

export type { ViewerSettings } from './settings';

/**
 * Creates the listeners of the data pages.
 *
 * @param getFirestore called for each page, so that no client is made before the first
 * @returns the listener of a path of the data pages; undefined for another path
 */
export function createDataRoutes(
  getFirestore: () => Promise<Firestore>,
  settings: ViewerSettings = {},
): (path: string) => RequestListener | undefined {
  const listener: RequestListener = (request, response) => {
    void import('./respond').then(({ respond }) => respond(getFirestore, settings, request, response));
  };
  return (path) => (path === DATA_ROOT || path.startsWith(`${DATA_ROOT}/`) ? listener : undefined);
}
