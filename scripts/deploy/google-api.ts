import { GoogleAuth } from 'google-auth-library';

/** What a request to a Google API came to. `unreachable`: no credentials, no connection, or no permission to look. */
export type ApiResult<T> = { kind: 'found'; body: T } | { kind: 'not-found' } | { kind: 'unreachable'; reason: string };

/** Sends one request: a GET, or a POST when there is a body. The methods that are called here change nothing. */
export type CallGoogle = <T>(host: string, path: string, body?: object) => Promise<ApiResult<T>>;

const TIMEOUT_MS = 20_000;

/**
 * @param env `GOOGLE_API_ENDPOINT` replaces `https://<host>` by `<endpoint>/<host>`, for tests;
 *   `CLOUDSDK_AUTH_ACCESS_TOKEN` replaces the application default credentials
 */
export function createGoogleClient(env: NodeJS.ProcessEnv, projectId: string): CallGoogle {
  const endpoint = env['GOOGLE_API_ENDPOINT'] ?? 'https:/';
  const getToken = createTokenSource(env['CLOUDSDK_AUTH_ACCESS_TOKEN']);
  return async (host, path, body) => {
    try {
      const response = await fetch(`${endpoint}/${host}/${path}`, {
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
        headers: {
          'Content-Type': 'application/json',
          Authorization: `Bearer ${await getToken()}`,
          'x-goog-user-project': projectId,
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await response.text();
      if (response.ok) return { kind: 'found', body: JSON.parse(text) as never };
      if (response.status === 404) return { kind: 'not-found' };
      return { kind: 'unreachable', reason: `${host} returned ${response.status}: ${readMessage(text)}` };
    } catch (error) {
      return { kind: 'unreachable', reason: describeError(host, error) };
    }
  };
}

/** The token, asked for once: without credentials the search for them takes seconds. */
function createTokenSource(given: string | undefined): () => Promise<string> {
  let token: Promise<string> | undefined;
  return () => (token ??= given === undefined ? readDefaultToken() : Promise.resolve(given));
}

async function readDefaultToken(): Promise<string> {
  try {
    const auth = new GoogleAuth({ scopes: 'https://www.googleapis.com/auth/cloud-platform' });
    const token = await auth.getAccessToken();
    if (typeof token === 'string') return token;
  } catch {
    // The library's texts differ by what it tried last; the cure is the same.
  }
  throw new Error('no credentials. Run: gcloud auth application-default login');
}

function describeError(host: string, error: unknown): string {
  const { message, cause } = error as Error;
  return `${host}: ${cause instanceof Error ? cause.message : message}`;
}

function readMessage(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } };
    return error?.message ?? text.slice(0, 200);
  } catch {
    return text.slice(0, 200);
  }
}
