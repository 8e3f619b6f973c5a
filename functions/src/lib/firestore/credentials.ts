import { credentials, Metadata, status, type ChannelCredentials } from '@grpc/grpc-js';
import { applicationDefault } from 'firebase-admin/app';

/**
 * Returns the credentials of both channels: TLS, and with each call the access token of the function's service account,
 * which firebase-admin caches and renews.
 *
 * A failed renewal is UNAVAILABLE, which is retried. By itself it has the HTTP status of the metadata server as its
 * code, which is no gRPC status.
 */
export function createDefaultCredentials(): ChannelCredentials {
  const account = applicationDefault();
  const token = credentials.createFromMetadataGenerator((_, done) => {
    account.getAccessToken().then(
      ({ access_token }) => {
        const metadata = new Metadata();
        metadata.set('authorization', `Bearer ${access_token}`);
        done(null, metadata);
      },
      (cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : 'unknown error';
        done(Object.assign(new Error(`No access token: ${reason}`), { code: status.UNAVAILABLE }));
      },
    );
  });
  return credentials.combineChannelCredentials(credentials.createSsl(), token);
}
