import { getServiceAccount, instanceLimits } from './config';

/** The platform's settings of the functions, and what follows from them. The figures behind them: docs/performance.md. */

const REGION = 'us-central1';

const readDefaults = {
  region: REGION,
  // An account that may do nothing else (docs/security.md).
  serviceAccount: getServiceAccount('organisation-data-reader'),
  cpu: 1,
  timeoutSeconds: 120,
  ...instanceLimits,
} as const;

/** The three full lists: small, so that many of them are answered beside each other. */
export const listOptions = { ...readDefaults, memory: '512MiB', concurrency: 40 } as const;

/** The two reads whose size the caller chooses. An answer holds up to 45 MB until it is sent: so many fit beside each other. */
export const rangeOptions = { ...readDefaults, memory: '1GiB', concurrency: 16 } as const;

/** Milliseconds that a caller may take to send the body of a read. */
export const READ_BODY_TIMEOUT_MS = 30_000;

/**
 * Add price lists. Four creations from bodies of 32 MB at once take half of the memory. The largest request, 364,000 products in 728
 * batches at 0.8 s each, takes ten minutes of writing; the time-out is twice that.
 */
export const writeOptions = {
  region: REGION,
  serviceAccount: getServiceAccount('price-lists-writer'),
  memory: '1GiB',
  cpu: 1,
  concurrency: 4,
  timeoutSeconds: 1_200,
  ...instanceLimits,
} as const;

/** Milliseconds that a caller may take to send a price list: 32 MiB at 1.2 Mbit/s. */
export const WRITE_BODY_TIMEOUT_MS = 240_000;

/**
 * How long an attempt owns its key after its claim and after each renewal; renewals follow after a third of it. The rest
 * outlives the longest commit (20 s), and leaves as much for clocks that differ.
 */
export const LEASE_DURATION_MS = 60_000;
