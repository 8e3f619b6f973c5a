import { GoogleAuth } from 'google-auth-library';
import type * as z from 'zod';
import { parseOutsideJson } from '../../command/cli/outside-json';

/**
 * Sends a GET to a Google API.
 *
 * @param api name of the API, such as `firestore`
 * @returns undefined when the resource does not exist
 * @throws GoogleRequestError without credentials, without a complete answer within 20 s, for any error status except 404, and for
 *   an answer that is not JSON or that the schema rejects
 */
export type AskGoogle = <T>(api: string, path: string, schema: z.ZodType<T>) => Promise<T | undefined>;

export class GoogleRequestError extends Error {}

/** Returns `CLOUDSDK_AUTH_ACCESS_TOKEN`, or a token of the application default credentials, or undefined. */
export async function readAccessToken(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const auth = new GoogleAuth({ scopes: 'https://www.googleapis.com/auth/cloud-platform' });
  // Ignores the error, because its text depends on the source of credentials that the library read last.
  return env['CLOUDSDK_AUTH_ACCESS_TOKEN'] ?? (await auth.getAccessToken().catch(() => undefined)) ?? undefined;
}

/**
 * @param token without a token, every request fails with a GoogleRequestError
 * @param endpoint replaces `https://<host>` with `<endpoint>/<host>`, for tests
 */
export function createGoogleClient(projectId: string, token: string | undefined, endpoint = 'https:/'): AskGoogle {
  return async <T>(api: string, path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
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
    if (response.ok) return parseAnswer(host, text, schema);
    const [, message = text.slice(0, 200)] = /"message": ?"([^"]+)/.exec(text) ?? [];
    throw new GoogleRequestError(`${host} returned ${response.status}: ${message}`);
  };
}

/** @throws GoogleRequestError for an answer that is not JSON, or that the schema rejects */
export function parseAnswer<T>(host: string, text: string, schema: z.ZodType<T>): T {
  try {
    return parseOutsideJson(text, schema, `the answer of ${host}`);
  } catch (error) {
    throw new GoogleRequestError((error as Error).message);
  }
}

/** @throws Error for an endpoint other than http://127.0.0.1:<port>, because the endpoint receives the access token */
export function readEndpoint({ GOOGLE_API_ENDPOINT: endpoint }: NodeJS.ProcessEnv): string | undefined {
  if (endpoint === undefined || /^http:\/\/127\.0\.0\.1:\d+$/.test(endpoint)) return endpoint;
  throw new Error(
    'GOOGLE_API_ENDPOINT must be http://127.0.0.1:<port>, because it receives your access token. Unset it.',
  );
}
