import { GoogleAuth } from 'google-auth-library';

/**
 * Sends a GET to a Google API.
 *
 * @param api name of the API, such as `firestore`
 * @returns undefined when the resource does not exist
 * @throws GoogleRequestError without credentials or a connection, and for any error status except 404
 */
export type AskGoogle = <T>(api: string, path: string) => Promise<T | undefined>;

export class GoogleRequestError extends Error {}

/** Returns `CLOUDSDK_AUTH_ACCESS_TOKEN`, or a token of the application default credentials, or undefined. */
export async function readAccessToken(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const auth = new GoogleAuth({ scopes: 'https://www.googleapis.com/auth/cloud-platform' });
  // The library's errors depend on its last try, and all have the same remedy.
  return env['CLOUDSDK_AUTH_ACCESS_TOKEN'] ?? (await auth.getAccessToken().catch(() => undefined)) ?? undefined;
}

/**
 * @param token without one, every request is a GoogleRequestError
 * @param endpoint replaces `https://<host>` by `<endpoint>/<host>`, for tests
 */
export function createGoogleClient(projectId: string, token: string | undefined, endpoint = 'https:/'): AskGoogle {
  return async <T>(api: string, path: string): Promise<T | undefined> => {
    if (token === undefined) throw new GoogleRequestError('no credentials');
    const host = `${api}.googleapis.com`;
    const headers = { Authorization: `Bearer ${token}`, 'x-goog-user-project': projectId };
    const signal = AbortSignal.timeout(20_000);
    const { response, text } = await fetch(`${endpoint}/${host}/${path}`, { headers, signal })
      .then(async (response) => ({ response, text: await response.text() }))
      .catch((error: unknown) => {
        const { message, cause } = error as Error;
        throw new GoogleRequestError(`${host}: ${cause instanceof Error ? cause.message : message}`);
      });
    if (response.status === 404) return undefined;
    if (response.ok) return JSON.parse(text) as T;
    const [, message = text.slice(0, 200)] = /"message": ?"([^"]+)/.exec(text) ?? [];
    throw new GoogleRequestError(`${host} returned ${response.status}: ${message}`);
  };
}
