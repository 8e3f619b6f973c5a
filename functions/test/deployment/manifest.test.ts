import { readDeployManifest, type DeployManifest } from '../../../scripts/deploy/manifest';
import * as functions from '../../src';
import { listOptions, rangeOptions, writeOptions } from '../../src/lib/runtime-options';
import { REGION } from '../../src/lib/region';
import { operationNames } from '../support/operations';
import { DEPLOY_PACKAGE } from './deployed';

/** What Firebase's tools read from the deploy package. */

const list = {
  availableMemoryMb: 512,
  concurrency: 40,
  timeoutSeconds: 120,
  serviceAccountEmail: 'organisation-data-reader@{{ params.PROJECT_ID }}.iam.gserviceaccount.com',
};

const range = { ...list, availableMemoryMb: 1024, concurrency: 16 };

const write = {
  availableMemoryMb: 1024,
  concurrency: 4,
  timeoutSeconds: 1200,
  serviceAccountEmail: 'price-lists-writer@{{ params.PROJECT_ID }}.iam.gserviceaccount.com',
};

/** What the manifest says of each kind of runtime options. */
const optionsInManifest = new Map<object, object>([
  [listOptions, list],
  [rangeOptions, range],
  [writeOptions, write],
]);

let manifest: DeployManifest;

beforeAll(async () => {
  manifest = await readDeployManifest(DEPLOY_PACKAGE);
});

const listFunctions = (trigger: 'httpsTrigger' | 'scheduleTrigger'): string[] =>
  Object.entries(manifest.endpoints).flatMap(([name, endpoint]) => (endpoint[trigger] === undefined ? [] : [name]));

test('the manifest has an HTTPS function for each operation, and the scheduled sweep', () => {
  expect(listFunctions('httpsTrigger').sort()).toEqual([...operationNames].sort());
  expect(listFunctions('scheduleTrigger')).toEqual(['sweepPriceLists']);
  expect(Object.keys(manifest.endpoints)).toHaveLength(operationNames.length + 1);
});

test('the sweep is called every minute, never repeated, in one instance, and gets no API key', () => {
  const { scheduleTrigger, ...options } = manifest.endpoints['sweepPriceLists'] ?? {};
  expect(scheduleTrigger).toMatchObject({ schedule: '* * * * *', retryConfig: { retryCount: 0 } });
  expect(options).toEqual({
    platform: 'gcfv2',
    entryPoint: 'sweepPriceLists',
    region: [REGION],
    cpu: 1,
    availableMemoryMb: 1024,
    concurrency: 1,
    minInstances: 0,
    maxInstances: 1,
    timeoutSeconds: 1_800,
    serviceAccountEmail: write.serviceAccountEmail,
    labels: {},
    ingressSettings: null,
    vpc: null,
  });
});

// Each function names all of it itself, so that it can be deployed without the others.
test.each(operationNames)('%s has its options, account, secret and region', (name) => {
  expect(manifest.endpoints[name]).toEqual({
    platform: 'gcfv2',
    entryPoint: name,
    region: [REGION],
    cpu: 1,
    httpsTrigger: { invoker: ['public'] },
    secretEnvironmentVariables: [{ key: 'API_KEY' }],
    labels: {},
    minInstances: '{{ params.MIN_INSTANCES }}',
    maxInstances: '{{ params.MAX_INSTANCES }}',
    ingressSettings: 'ALLOW_ALL',
    vpc: null,
    ...optionsInManifest.get(functions[name].operation.runtimeOptions),
  });
});

test('the manifest asks for one secret, and for parameters that have defaults', () => {
  expect(manifest.params).toEqual([
    { type: 'secret', name: 'API_KEY' },
    expect.objectContaining({ type: 'string', name: 'CORS_ALLOWED_ORIGINS', default: '' }),
    expect.objectContaining({ type: 'string', name: 'DATABASE_ID', default: '(default)' }),
    expect.objectContaining({ type: 'int', name: 'MIN_INSTANCES', default: 0 }),
    expect.objectContaining({ type: 'int', name: 'MAX_INSTANCES', default: 20 }),
  ]);
  expect(manifest.requiredAPIs.map(({ api }) => api)).toEqual(['cloudscheduler.googleapis.com']);
});
