import { credentials, status, type ChannelCredentials } from '@grpc/grpc-js';
import { applicationDefault } from 'firebase-admin/app';
import { ConfigError, isFunctionsEmulator } from '../config';
import { getErrorMessage, LoggableError } from '../errors';

/**
 * Returns the credentials of the SDK's channel and of that in connection.ts: TLS, and with each call an access token of
 * the default credentials, which in a function are those of its service account. google-auth-library caches and renews the token.
 *
 * If no token can be obtained, the error gets the code UNAVAILABLE, so that the call is retried. The original code can be an
 * HTTP status of the metadata server, which is not a code of gRPC.
 *
 * @throws ConfigError in Firebase's emulator, which must not reach a real database, and for unusable settings of TLS
 */
export function createDefaultCredentials(): ChannelCredentials {
  if (isFunctionsEmulator()) {
    throw new ConfigError(
      'FIRESTORE_EMULATOR_HOST is not set. Start the Firestore emulator too, or set the variable to the address of another Firestore.',
    );
  }
  const account = applicationDefault();
  const token = credentials.createFromGoogleCredential({
    getRequestHeaders: async () => {
      try {
        const { access_token } = await account.getAccessToken();
        return { authorization: `Bearer ${access_token}` };
      } catch (cause) {
        throw Object.assign(new LoggableError(`No access token: ${getErrorMessage(cause)}`), {
          code: status.UNAVAILABLE,
        });
      }
    },
  });
  return credentials.combineChannelCredentials(createTlsCredentials(), token);
}

function createTlsCredentials(): ChannelCredentials {
  try {
    return credentials.createSsl();
  } catch (cause) {
    throw new ConfigError(
      `TLS cannot be set up. Correct GRPC_DEFAULT_SSL_ROOTS_FILE_PATH or GRPC_SSL_CIPHER_SUITES: ${getErrorMessage(cause)}`,
    );
  }
}
