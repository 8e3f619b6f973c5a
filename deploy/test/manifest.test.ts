import { readDeployManifest, type DeployManifest } from '../check/manifest';
import { MEMORY_BYTES } from '../../functions/src/lib/memory';
import * as functions from '../../functions/src';
import { REGION } from '../../functions/src/lib/region';
import { operationNames } from '../../dev/run/operations';
import { DEPLOY_PACKAGE } from '../../dev/run/deployed';

/** Tests the manifest that Firebase's tools read from the deploy package. */

const getAddress = (account: string) => `${account}@{{ params.PROJECT_ID }}.iam.gserviceaccount.com`;

let manifest: DeployManifest;

beforeAll(async () => {
  manifest = await readDeployManifest(DEPLOY_PACKAGE);
});

test('the sweep runs every minute in one instance, is never retried, and gets no API key', () => {
  const sweep = manifest.endpoints['sweepPriceLists'];
  expect(sweep).toMatchObject({
    scheduleTrigger: { schedule: '* * * * *', retryConfig: { retryCount: 0 } },
    concurrency: 1,
    minInstances: 0,
    maxInstances: 1,
    serviceAccountEmail: getAddress('price-lists-writer'),
  });
  expect(sweep).not.toHaveProperty('secretEnvironmentVariables');
});

// Each function has all of its options, so that it can be deployed without the others. The address of its
// account is complete, because Firebase's tools expand `name@` for the function and not for the grant of the secret.
test.each(operationNames)('%s has its account, the secret, instance limits, and the options of its source', (name) => {
  const { runtimeOptions, writes = false } = functions[name].operation;
  const { cpu, concurrency, timeoutSeconds, memory } = runtimeOptions;
  const options = { cpu, concurrency, timeoutSeconds, availableMemoryMb: MEMORY_BYTES[memory] / 2 ** 20 };
  expect(manifest.endpoints[name]).toMatchObject({
    platform: 'gcfv2',
    entryPoint: name,
    region: [REGION],
    httpsTrigger: { invoker: ['public'] },
    ingressSettings: 'ALLOW_ALL',
    secretEnvironmentVariables: [{ key: 'API_KEY' }],
    minInstances: '{{ params.MIN_INSTANCES }}',
    maxInstances: '{{ params.MAX_INSTANCES }}',
    serviceAccountEmail: getAddress(writes ? 'price-lists-writer' : 'organisation-data-reader'),
    ...options,
  });
});

test('the manifest asks for one secret, and for parameters that have defaults', () => {
  expect(manifest.params).toEqual([
    { type: 'secret', name: 'API_KEY' },
    expect.objectContaining({ type: 'string', name: 'CORS_ALLOWED_ORIGINS', default: '' }),
    expect.objectContaining({ type: 'string', name: 'DATABASE_ID', default: '(default)' }),
    expect.objectContaining({ type: 'boolean', name: 'WRITES_PAUSED', default: false }),
    expect.objectContaining({ type: 'int', name: 'MIN_INSTANCES', default: 0 }),
    expect.objectContaining({ type: 'int', name: 'MAX_INSTANCES', default: 20 }),
  ]);
});
