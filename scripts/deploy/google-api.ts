import { GoogleAuth } from 'google-auth-library';

/** What a request to a Google API came to. `unreachable`: no credentials, no connection, or no permission to look. */
export type ApiResult<T> = { kind: 'found'; body: T } | { kind: 'not-found' } | { kind: 'unreachable'; reason: string };

/**
 * Sends one request: a GET, or a POST when there is a body. The methods that are called here change nothing.
 *
 * @param api name of a Google API, such as `firestore`
 */
export type CallGoogle = <T>(api: string, path: string, body?: object) => Promise<ApiResult<T>>;

/** Returns `CLOUDSDK_AUTH_ACCESS_TOKEN`, or a token of the application default credentials; undefined without either. */
export async function readAccessToken(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const auth = new GoogleAuth({ scopes: 'https://www.googleapis.com/auth/cloud-platform' });
  // The library's errors differ by what it tried last; the cure is the same.
  return env['CLOUDSDK_AUTH_ACCESS_TOKEN'] ?? (await auth.getAccessToken().catch(() => undefined)) ?? undefined;
}

/**
 * @param token without one, every call is `unreachable`
 * @param endpoint replaces `https://<host>` by `<endpoint>/<host>`, for tests
 */
export function createGoogleClient(projectId: string, token: string | undefined, endpoint = 'https:/'): CallGoogle {
  return async <T>(api: string, path: string, body?: object): Promise<ApiResult<T>> => {
    if (token === undefined) return { kind: 'unreachable', reason: 'no credentials' };
    const host = `${api}.googleapis.com`;
    const headers = { Authorization: `Bearer ${token}`, 'x-goog-user-project': projectId };
    const request = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(20_000);
    try {
      const response = await fetch(`${endpoint}/${host}/${path}`, { ...request, signal });
      const text = await response.text();
      if (response.ok) return { kind: 'found', body: JSON.parse(text) as T };
      if (response.status === 404) return { kind: 'not-found' };
      const [, message = text.slice(0, 200)] = /"message": ?"([^"]+)/.exec(text) ?? [];
      return { kind: 'unreachable', reason: `${host} returned ${response.status}: ${message}` };
    } catch (error) {
      const { message, cause } = error as Error;
      return { kind: 'unreachable', reason: `${host}: ${cause instanceof Error ? cause.message : message}` };
    }
  };
}
