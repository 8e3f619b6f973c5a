import { getServiceAccount, instanceLimits } from './config';
import { REGION } from './region';

/** Options of the functions that the code fixes. docs/deployment.md#runtime-options explains them. */

const defaults = { region: REGION, cpu: 1, ...instanceLimits } as const;

/**
 * Who reaches an operation. Firebase's tools set both at every deployment, so that a setting made by
 * hand would be lost. The API key decides who is served.
 */
const operationDefaults = { ...defaults, ingressSettings: 'ALLOW_ALL', invoker: 'public' } as const;

const readDefaults = {
  ...operationDefaults,
  // This account may only read (docs/security.md#roles).
  serviceAccount: getServiceAccount('organisation-data-reader'),
  timeoutSeconds: 120,
} as const;

/** Complete lists. They are small, so one instance serves many requests at once. */
export const listOptions = { ...readDefaults, memory: '512MiB', concurrency: 40 } as const;

/** Reads whose size the client chooses. Sixteen responses fit the memory; each holds up to 45 MB until it is sent. */
export const rangeOptions = { ...readDefaults, memory: '1GiB', concurrency: 16 } as const;

/**
 * Add price lists. Four concurrent creations from bodies of 32 MB take a third of the memory. The
 * largest request, 364,000 products in 728 batches at 0.8 s each, takes ten minutes to write; the
 * timeout is twice that.
 */
export const writeOptions = {
  ...operationDefaults,
  serviceAccount: getServiceAccount('price-lists-writer'),
  memory: '1GiB',
  concurrency: 4,
  timeoutSeconds: 1_200,
} as const;

/**
 * The sweep. Four payloads of 32 MB that are resumed at once take less memory than as many
 * requests. Its time is the longest that Cloud Scheduler waits for; one instance, one sweep at a
 * time.
 */
export const sweepOptions = {
  ...defaults,
  minInstances: 0,
  maxInstances: 1,
  serviceAccount: writeOptions.serviceAccount,
  memory: '1GiB',
  concurrency: 1,
  timeoutSeconds: 1_800,
} as const;
