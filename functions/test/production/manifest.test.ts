import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { operationNames } from '../support/operations';
import { DEPLOY_PACKAGE } from './deployed';

/**
 * What Firebase's tools learn of the deploy package: its functions, their options, and what has to be set before. Asked
 * as firebase-tools asks, of the SDK's own program, with none of the settings there.
 */

interface Manifest {
  endpoints: Record<string, object>;
  params: unknown[];
  requiredAPIs: unknown[];
}

async function manifest(): Promise<Manifest> {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-'));
  const file = join(folder, 'functions.yaml');
  const program = resolve('functions/node_modules/firebase-functions/lib/bin/firebase-functions.js');
  await promisify(execFile)(process.execPath, [program], {
    cwd: DEPLOY_PACKAGE,
    env: { FUNCTIONS_CONTROL_API: 'true', FUNCTIONS_MANIFEST_OUTPUT_PATH: file, GCLOUD_PROJECT: 'demo-price-lists' },
  });
  const found = JSON.parse(await readFile(file, 'utf8')) as Manifest;
  await rm(folder, { recursive: true });
  return found;
}

const read = {
  availableMemoryMb: 512,
  concurrency: 40,
  timeoutSeconds: 120,
  serviceAccountEmail: 'organisation-data-reader@',
};

const write = {
  availableMemoryMb: 2048,
  concurrency: 4,
  timeoutSeconds: 1200,
  serviceAccountEmail: 'price-lists-writer@',
};

const optionsOf: Record<string, object> = {
  addPriceLists: write,
  getMarkets: read,
  getOrdersByTeam: read,
  getTeams: read,
  getWarehouses: read,
  supplyOrdersInvoices: read,
};

let found: Manifest;

beforeAll(async () => {
  found = await manifest();
});

test('the deploy manifest has the six functions and no other', () => {
  expect(Object.keys(found.endpoints).sort()).toEqual([...operationNames].sort());
});

// Each stands alone: it names its own entry point, account, secret and region, so that it can be deployed without the others.
test.each(operationNames)('%s: its options, its account, its secret, its region', (name) => {
  expect(found.endpoints[name]).toEqual({
    platform: 'gcfv2',
    entryPoint: name,
    region: ['us-central1'],
    cpu: 1,
    httpsTrigger: { invoker: ['public'] },
    secretEnvironmentVariables: [{ key: 'API_KEY' }],
    labels: {},
    minInstances: null,
    maxInstances: null,
    ingressSettings: null,
    vpc: null,
    ...optionsOf[name],
  });
});

test('the deploy manifest asks for one secret and one parameter, which has a default', () => {
  expect(found.params).toEqual([
    { type: 'secret', name: 'API_KEY' },
    expect.objectContaining({ type: 'string', name: 'CORS_ALLOWED_ORIGINS', default: '' }),
  ]);
  expect(found.requiredAPIs).toEqual([]);
});
