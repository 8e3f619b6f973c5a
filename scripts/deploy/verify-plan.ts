import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readDeployManifest } from './manifest';
import { planSecretMembers } from './plan';

/**
 *     npm exec -- node scripts/run.mjs scripts/deploy/verify-plan.ts <folder of the package firebase-tools>
 *
 * Lets the planner of firebase-tools plan a first deployment and grant the secret, against a stub of Secret Manager, and compares the
 * members that it sends with those of plan.ts. Run before each deployment by .github/workflows/deploy.yml.
 */

const PROJECT_ID = 'price-lists-example';

/** The functions of firebase-tools that are called here; it has no types of its own. */
interface FirebaseTools {
  buildFromV1Alpha1: (manifest: unknown, project: string, region: string, runtime: string) => object;
  resolveBackend: (options: object) => Promise<{ backend: object }>;
  createDeploymentPlan: (options: object) => Promise<{ secretAccessPlan: Record<string, string[]> }>;
  grantSecretAccess: (options: { projectId: string; secret: string; serviceAccounts: string[] }) => Promise<void>;
  emptyBackend: () => object;
  setAccessToken: (token: string) => void;
}

async function main(folder: string): Promise<void> {
  const manifest = await readDeployManifest('functions/dist');
  const { sent, url, close } = await startSecretManager();
  process.env['CLOUD_SECRET_MANAGER_URL'] = url;
  try {
    const tools = loadFirebaseTools(resolve(folder));
    tools.setAccessToken('a-token');
    const { backend: wantBackend } = await tools.resolveBackend({
      build: tools.buildFromV1Alpha1(manifest, PROJECT_ID, 'us-central1', 'nodejs24'),
      firebaseConfig: { projectId: PROJECT_ID },
      userEnvs: { CORS_ALLOWED_ORIGINS: '', MIN_INSTANCES: '0', MAX_INSTANCES: '20' },
      codebase: 'default',
      nonInteractive: true,
      // Leaves out the question whether the secret exists, and nothing else.
      isEmulator: true,
    });
    const haveBackend = tools.emptyBackend();
    const plan = await tools.createDeploymentPlan({
      wantBackend,
      haveBackend,
      codebase: 'default',
      projectId: PROJECT_ID,
    });
    for (const [secret, serviceAccounts] of Object.entries(plan.secretAccessPlan)) {
      await tools.grantSecretAccess({ projectId: PROJECT_ID, secret, serviceAccounts });
    }
  } finally {
    close();
  }

  const planned = planSecretMembers(manifest, PROJECT_ID);
  const equal = isDeepStrictEqual(sent, planned);
  console.log(JSON.stringify({ sent, planned, equal }, null, 2));
  if (!equal) throw new Error('firebase-tools sends other members than scripts/deploy/plan.ts expects.');
}

function loadFirebaseTools(folder: string): FirebaseTools {
  const load = createRequire(`${folder}/package.json`);
  const functions = `${folder}/lib/deploy/functions`;
  return {
    ...(load(`${functions}/runtimes/discovery/v1alpha1.js`) as Pick<FirebaseTools, 'buildFromV1Alpha1'>),
    ...(load(`${functions}/build.js`) as Pick<FirebaseTools, 'resolveBackend'>),
    ...(load(`${functions}/release/planner.js`) as Pick<FirebaseTools, 'createDeploymentPlan'>),
    ...(load(`${functions}/ensure.js`) as Pick<FirebaseTools, 'grantSecretAccess'>),
    ...(load(`${folder}/lib/apiv2.js`) as Pick<FirebaseTools, 'setAccessToken'>),
    emptyBackend: (load(`${functions}/backend.js`) as { empty: () => object }).empty,
  };
}

/** A Secret Manager whose secrets have no policy yet; keeps the members that it is sent. */
async function startSecretManager() {
  const sent: Record<string, string[]> = {};
  const server = createServer((request, response) => {
    void (async () => {
      const text = (await request.toArray()).join('');
      const secret = /\/secrets\/(\w+):setIamPolicy$/.exec(request.url ?? '')?.[1];
      if (secret !== undefined) {
        const { policy } = JSON.parse(text) as { policy: { bindings: { members: string[] }[] } };
        sent[secret] = policy.bindings.flatMap(({ members }) => members);
      }
      response.setHeader('Content-Type', 'application/json').end('{}');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { sent, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Usage: verify-plan.ts <folder of the package firebase-tools>');
  process.exit(64);
}
main(folder).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
