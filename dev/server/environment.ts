import { removeGoogleVariables } from '../../functions/src/lib/google-variables';
import { PROJECT, type LocalConfig } from './local-config';

/** Sets the environment of the functions and Firestore clients, and overrides what the shell has set for another project. */
export function setEnvironment({ apiKey, corsAllowedOrigins, firestore }: LocalConfig): void {
  removeGoogleVariables();
  // With these variables, the functions would behave as on Cloud Run or in Firebase's emulator.
  delete process.env['K_SERVICE'];
  delete process.env['FUNCTIONS_EMULATOR'];
  Object.assign(process.env, {
    GCLOUD_PROJECT: PROJECT,
    GOOGLE_CLOUD_PROJECT: PROJECT,
    FIREBASE_CONFIG: JSON.stringify({ projectId: PROJECT }),
    API_KEY: apiKey,
    CORS_ALLOWED_ORIGINS: corsAllowedOrigins,
    DATABASE_ID: '(default)',
    // Without this variable, Google's libraries would look for a metadata server on the network.
    METADATA_SERVER_DETECTION: 'none',
  });
  // Without this variable, gRPC would connect to the embedded Firestore through the shell's proxy.
  if (typeof firestore === 'object') process.env['no_grpc_proxy'] = '127.0.0.1';
}
