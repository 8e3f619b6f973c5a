import { getServiceAccount, instanceLimits } from './config';
import { REGION } from './region';
import { getTimeLimitMs } from './time-limits';

/** The runtime options of the functions. time-limits.ts and memory.ts compute limits from them. */

const defaults = { region: REGION, cpu: 1, ...instanceLimits } as const;

/**
 * Everyone can reach an operation, and the API key decides who is served. Each deployment of a function
 * sets its `ingressSettings` and `invoker` again, so a change made by hand is lost.
 */
const operationDefaults = { ...defaults, ingressSettings: 'ALLOW_ALL', invoker: 'public' } as const;

const readDefaults = {
  ...operationDefaults,
  // This account can only read (docs/security.md#roles).
  serviceAccount: getServiceAccount('organisation-data-reader'),
  timeoutSeconds: 120,
} as const;

/** Options of get warehouses, get markets and get teams. Their responses are usually small, so an instance serves many requests at once. */
export const listOptions = { ...readDefaults, memory: '512MiB', concurrency: 40 } as const;

/** Options of get orders by team and supply orders invoices. Their responses can be large, so an instance serves fewer requests at once. */
export const rangeOptions = { ...readDefaults, memory: '1GiB', concurrency: 16 } as const;

/**
 * Options of add price lists. memory.ts says what the memory is for. The timeout is 1.5 to 2 times as long as the creation
 * of a list of 400,000 products takes (docs/performance.md#scale).
 */
export const writeOptions = {
  ...operationDefaults,
  serviceAccount: getServiceAccount('price-lists-writer'),
  memory: '2GiB',
  concurrency: 4,
  timeoutSeconds: 1_200,
} as const;

/** Options of the sweep. Its timeout is the longest that Cloud Scheduler allows. */
export const sweepOptions = {
  ...defaults,
  minInstances: 0,
  maxInstances: 1,
  serviceAccount: writeOptions.serviceAccount,
  memory: writeOptions.memory,
  concurrency: 1,
  timeoutSeconds: 1_800,
} as const;

/**
 * After this time, the scheduled sweep begins no more resumes, because each can take as long as a creation. A resume that the time
 * limit cuts off would count as a failed try. The next sweep starts within a minute after this one has ended.
 */
export const LAST_RESUME_MS = getTimeLimitMs(sweepOptions, true) - getTimeLimitMs(writeOptions, true);
