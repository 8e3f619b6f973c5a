import { credentials, status, type ChannelCredentials } from '@grpc/grpc-js';
import { applicationDefault } from 'firebase-admin/app';
import { getErrorMessage } from '../errors';

/**
 * Returns the credentials of both channels: TLS, and with each call the access token of the
 * function's service account, which firebase-admin caches and renews.
 *
 * A failed renewal is UNAVAILABLE, which is retried. By itself it has the HTTP status of the
 * metadata server as its code, which is no gRPC status.
 */
export function createDefaultCredentials(): ChannelCredentials {
  const account = applicationDefault();
  const token = credentials.createFromGoogleCredential({
    getRequestHeaders: async () => {
      try {
        const { access_token } = await account.getAccessToken();
        return { authorization: `Bearer ${access_token}` };
      } catch (cause) {
        throw Object.assign(new Error(`No access token: ${getErrorMessage(cause)}`), { code: status.UNAVAILABLE });
      }
    },
  });
  return credentials.combineChannelCredentials(credentials.createSsl(), token);
}
