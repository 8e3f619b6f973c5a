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
  const program = resolve('node_modules/firebase-functions/lib/bin/firebase-functions.js');
  await promisify(execFile)(process.execPath, [program], {
    cwd: DEPLOY_PACKAGE,
    env: { FUNCTIONS_CONTROL_API: 'true', FUNCTIONS_MANIFEST_OUTPUT_PATH: file, GCLOUD_PROJECT: 'demo-price-lists' },
  });
  const found = JSON.parse(await readFile(file, 'utf8')) as Manifest;
  await rm(folder, { recursive: true });
  return found;
}

const list = {
  availableMemoryMb: 512,
  concurrency: 40,
  timeoutSeconds: 120,
  serviceAccountEmail: 'organisation-data-reader@',
};

const range = { ...list, availableMemoryMb: 1024, concurrency: 16 };

const write = {
  availableMemoryMb: 1024,
  concurrency: 4,
  timeoutSeconds: 1200,
  serviceAccountEmail: 'price-lists-writer@',
};

const optionsOf: Record<string, object> = {
  addPriceLists: write,
  getMarkets: list,
  getOrdersByTeam: range,
  getTeams: list,
  getWarehouses: list,
  supplyOrdersInvoices: range,
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
    minInstances: '{{ params.MIN_INSTANCES }}',
    maxInstances: '{{ params.MAX_INSTANCES }}',
    ingressSettings: null,
    vpc: null,
    ...optionsOf[name],
  });
});

test('the deploy manifest asks for one secret, and for parameters that have defaults', () => {
  expect(found.params).toEqual([
    { type: 'secret', name: 'API_KEY' },
    expect.objectContaining({ type: 'string', name: 'CORS_ALLOWED_ORIGINS', default: '' }),
    expect.objectContaining({ type: 'int', name: 'MIN_INSTANCES', default: 0 }),
    expect.objectContaining({ type: 'int', name: 'MAX_INSTANCES', default: 20 }),
  ]);
  expect(found.requiredAPIs).toEqual([]);
});
