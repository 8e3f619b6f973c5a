import { globSync, readFileSync } from 'node:fs';
import { removeGoogleVariables } from '../../../src/lib/google-variables';

/**
 * Lists the environment variables that {@link LIBRARIES} read by name, and what happens to them. The first test fails
 * when a new version of one of these libraries reads another variable.
 */

const LIBRARIES = [
  '@google-cloud/firestore-api/build',
  '@google-cloud/firestore/build/src',
  '@grpc/grpc-js/build/src',
  'debug/src',
  'firebase-admin/lib/{app,credential,firestore,utils}',
  'gaxios/build/cjs',
  'gcp-metadata/build',
  'google-auth-library/build',
  'google-gax/build',
  'google-logging-utils/build',
  'retry-request',
];

/** The variables by their purpose. removeGoogleVariables removes those under `removed`. */
const VARIABLES = {
  /** Variables that the service does not allow. Some can change the transport, log headers or stop the program. */
  removed: [
    ...['DEBUG_AUTH', 'DETECT_GCP_RETRIES', 'FIRESTORE_ENABLE_TRACING', 'FIRESTORE_PREFER_REST'],
    ...['GAE_MODULE_NAME', 'GAE_SERVICE', 'GCP_ARTIFACT', 'GCP_CLIENT_SERVICE', 'GCP_CLIENT_VERSION'],
    ...['GOOGLE_CLOUD_UNIVERSE_DOMAIN'],
    ...['GOOGLE_API_CERTIFICATE_CONFIG', 'GOOGLE_API_USE_CLIENT_CERTIFICATE', 'GOOGLE_API_USE_MTLS_ENDPOINT'],
    ...['GOOGLE_SDK_NODE_ARTIFACT', 'GOOGLE_SDK_NODE_CLIENT_SERVICE', 'GOOGLE_SDK_NODE_CLIENT_VERSION'],
    ...['GOOGLE_SDK_NODE_ENABLE_TRACING', 'GOOGLE_SDK_NODE_LOGGING', 'GOOGLE_SDK_NODE_SERVER_ADDRESS'],
    ...['GOOGLE_SDK_NODE_SERVER_PORT'],
  ],
  /** Variables that say which database, project or metadata server to use. */
  target: [
    ...['FIRESTORE_EMULATOR_HOST', 'GCE_METADATA_HOST', 'GCE_METADATA_IP', 'GCLOUD_PROJECT', 'GOOGLE_CLOUD_PROJECT'],
    ...['METADATA_SERVER_DETECTION', 'gcloud_project', 'google_cloud_project'],
  ],
  /** Variables by which the libraries find credentials, and the project that pays. With unusable credentials, calls fail with a message. */
  credentials: [
    ...['AWS_ACCESS_KEY_ID', 'AWS_DEFAULT_REGION', 'AWS_REGION', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
    ...['APPDATA', 'CLOUDSDK_CONFIG', 'GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_QUOTA_PROJECT'],
    ...['GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES', 'HOME', 'google_application_credentials'],
  ],
  /** Variables that say how this machine reaches Google. */
  network: [
    ...['GRPC_DEFAULT_SSL_ROOTS_FILE_PATH', 'GRPC_NODE_USE_ALTERNATIVE_RESOLVER', 'GRPC_SSL_CIPHER_SUITES'],
    ...[
      'HTTPS_PROXY',
      'HTTP_PROXY',
      'NO_PROXY',
      'grpc_proxy',
      'http_proxy',
      'https_proxy',
      'no_grpc_proxy',
      'no_proxy',
    ],
  ],
  /** Variables for debugging, which are rarely set by accident. */
  debugging: [
    ...['GRPC_NODE_DEBUG_SEND_ERROR_DETAILS', 'GRPC_NODE_TRACE', 'GRPC_NODE_VERBOSITY', 'GRPC_TRACE', 'GRPC_VERBOSITY'],
    ...['DEBUG', 'NODE_DEBUG'],
  ],
  /**
   * In a function, FIREBASE_CONFIG names the same project as GCLOUD_PROJECT, and K_SERVICE says that there is a metadata
   * server, as three variables of other products do. The rest matters only to code of the libraries that no program of
   * this repository runs: servers, other products, a balancer that nobody configures, or code behind a removed variable.
   */
  unused: [
    ...['FIREBASE_CONFIG', 'GRPC_EXPERIMENTAL_ENABLE_OUTLIER_DETECTION', 'SERVER_ADDRESS', 'SERVER_PORT'],
    ...['CLOUD_RUN_JOB', 'CLOUD_RUN_WORKER_POOL', 'FUNCTION_NAME', 'FUNCTION_TARGET', 'K_CONFIGURATION', 'K_SERVICE'],
  ],
};

/** Names that the libraries read through a constant. */
const CONSTANTS: Record<string, string[]> = {
  'exports.CERTIFICATE_CONFIGURATION_ENV_VARIABLE': ['GOOGLE_API_CERTIFICATE_CONFIG'],
  'exports.FIREBASE_CONFIG_VAR': ['FIREBASE_CONFIG'],
  'exports.env.nodeEnables': ['GOOGLE_SDK_NODE_LOGGING'],
  GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES: ['GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES'],
  envKey: ['GOOGLE_SDK_NODE_LOGGING'],
  // In gcp-metadata, a member of SERVERLESS_ENV_VARS. In debug, any variable that begins with `DEBUG_`.
  key: ['CLOUD_RUN_JOB', 'CLOUD_RUN_WORKER_POOL', 'FUNCTION_NAME', 'K_SERVICE'],
};

/** Matches `process.env.NAME`, `env['NAME']`, `process?.env?.NAME`, and a name in a constant. */
const READ = /(?<![\w.])(?:process\??\.)?env(?:\??\.([A-Za-z_]\w*)|\[(?:'(\w+)'|"(\w+)"|([\w.]+))\])/g;
/** Matches HTTP_PROXY, HTTPS_PROXY or their lowercase forms in quotation marks, as in a list of names. */
const LISTED = /'(HTTPS?_PROXY|https?_proxy)'/g;

function findVariables(): Set<string> {
  const found = new Set<string>();
  for (const library of LIBRARIES) {
    const files = globSync(`node_modules/${library}/**/*.{js,cjs}`);
    expect([library, files.length]).not.toEqual([library, 0]);
    for (const file of files) {
      const text = readFileSync(file, 'utf8').replace(/\/\*[^]*?\*\/|^[ \t]*\/\/.*/gm, '');
      for (const [, member, single, double, constant] of text.matchAll(READ)) {
        const name = member ?? single ?? double;
        const named = CONSTANTS[constant ?? ''] ?? [`a constant: ${String(constant)}`];
        for (const each of name === undefined ? named : [name]) found.add(each);
      }
      if (text.includes('process.env')) for (const [, name = ''] of text.matchAll(LISTED)) found.add(name);
    }
  }
  return found;
}

test('the table has exactly the environment variables that the listed libraries read by name', () => {
  const listed = Object.values(VARIABLES).flat();
  expect([...findVariables()].sort()).toEqual(listed.sort());
});

test('the variables listed as removed, FIRESTORE_NEW and GOOGLE_SDK_NODE_NEW are removed, and the other listed ones and PATH stay', () => {
  const all = Object.values(VARIABLES).flat();
  const env = Object.fromEntries([...all, 'FIRESTORE_NEW', 'GOOGLE_SDK_NODE_NEW', 'PATH'].map((name) => [name, 'x']));
  removeGoogleVariables(env);
  const { removed, ...others } = VARIABLES;
  expect(Object.keys(env).sort()).toEqual([...Object.values(others).flat(), 'PATH'].sort());
  expect(removed.filter((name) => name in env)).toEqual([]);
});
