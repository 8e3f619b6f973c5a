/**
 * Google's libraries read many environment variables. Some change the transport, on which the timeouts of calls rely. Others
 * make the libraries log headers, or end a program with a stack trace. google-variables.test.ts lists what the libraries read.
 */

/** Matches names of variables of Google's libraries. Variables with other names stay, such as those of proxies, AWS and Cloud Run. */
const GOOGLE = /^(DEBUG_AUTH|DETECT_GCP_|FIRESTORE_|GAE_|GCE_|GCLOUD_|GCP_|GOOGLE_|GRPC_|METADATA_SERVER_)/;

/**
 * What a person or the platform may set: the target, the credentials, the metadata server, and gRPC's own options, such as
 * those for TLS, name resolution and traces.
 */
const ALLOWED =
  /^(FIRESTORE_EMULATOR_HOST|GCE_METADATA_(HOST|IP)|GCLOUD_PROJECT|GOOGLE_(APPLICATION_CREDENTIALS|CLOUD_PROJECT|CLOUD_QUOTA_PROJECT|EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES)|GRPC_.*|METADATA_SERVER_DETECTION)$/;

/** Removes the variables of Google's libraries that this service does not allow. Call it before the first client is created. */
export function removeGoogleVariables(env: NodeJS.ProcessEnv = process.env): void {
  for (const name of Object.keys(env)) {
    if (GOOGLE.test(name) && !ALLOWED.test(name)) Reflect.deleteProperty(env, name);
  }
}
