import type { RequestListener } from 'node:http';
import type { Firestore } from '@google-cloud/firestore';

const DATA_ROOT = '/data';

/**
 * Creates the listener of the data pages, which show the content of a Firestore at `/data`.
 *
 * @param getFirestore called for each page, so that no client exists before the first page
 * @returns the listener for a path of the data pages, or undefined for another path
 */
export function createDataRoutes(
  getFirestore: () => Promise<Firestore>,
): (path: string) => RequestListener | undefined {
  const listener: RequestListener = (request, response) => {
    void import('./respond')
      .then(({ respond }) => respond(getFirestore, request, response))
      .catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
  };
  return (path) => (path === DATA_ROOT || path.startsWith(`${DATA_ROOT}/`) ? listener : undefined);
}
