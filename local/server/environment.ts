import { PROJECT, type LocalConfig } from './local-config';

/** Sets what the functions and the Firestore clients of this process read, over the shell's values for other projects. */
export function setEnvironment({ apiKey, corsAllowedOrigins, firestore }: LocalConfig): void {
  Object.assign(process.env, {
    GCLOUD_PROJECT: PROJECT,
    GOOGLE_CLOUD_PROJECT: PROJECT,
    FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
    API_KEY: apiKey,
    CORS_ALLOWED_ORIGINS: corsAllowedOrigins,
    DATABASE_ID: '(default)',
    // Google's libraries would look for a metadata server on the network.
    METADATA_SERVER_DETECTION: 'none',
  });
  // gRPC would use the shell's proxy for the embedded Firestore, too.
  if (typeof firestore === 'object') process.env['no_grpc_proxy'] = '127.0.0.1';
}
