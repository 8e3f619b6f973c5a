import type { Firestore } from '@google-cloud/firestore';
import type { GetRoute, Route } from '../route';

const DATA_ROOT = '/data';

/**
 * Creates the listener of the data pages, which show the content of a Firestore at `/data`.
 *
 * @param getFirestore called for each page, so that no client exists before the first page
 * @returns a function that returns the listener for a path of the data pages, and undefined for another path
 */
export function createDataRoutes(getFirestore: () => Promise<Firestore>): GetRoute {
  const listener: Route = async (request, response) => {
    const { respond } = await import('./respond');
    await respond(getFirestore, request, response);
  };
  return (path) => (path === DATA_ROOT || path.startsWith(`${DATA_ROOT}/`) ? listener : undefined);
}
