/** What calls use and what that costs. Pure; the figures are counted by count.ts, the prices are those of prices.json. */

/** The billed quantities, as prices.json names them. */
export interface BilledUsage {
  documentReads: number;
  documentWrites: number;
  /** Documents and their index entries, kept for a month. */
  storedGiBMonths: number;
  requests: number;
  /** Time of an instance with one CPU: from the start of a request to its end, since the platform bills waiting too. */
  cpuSeconds: number;
  memoryGiBSeconds: number;
  bytesOutGiB: number;
  /** Jobs of Cloud Scheduler, kept for a month. */
  scheduledJobs: number;
}

export interface PriceTable {
  source: string;
  date: string;
  currency: string;
  prices: Record<keyof BilledUsage, { per: number; price: number }>;
}

export const GIB = 2 ** 30;

export function calculateCost(usage: BilledUsage, { prices }: PriceTable): number {
  return (Object.keys(prices) as (keyof BilledUsage)[]).reduce((sum, key) => {
    const { per, price } = prices[key];
    return sum + (usage[key] / per) * price;
  }, 0);
}

const NO_USAGE: BilledUsage = {
  documentReads: 0,
  documentWrites: 0,
  storedGiBMonths: 0,
  requests: 0,
  cpuSeconds: 0,
  memoryGiBSeconds: 0,
  bytesOutGiB: 0,
  scheduledJobs: 0,
};

/** The usage of several kinds of call, each as often as its count says. */
export function sumUsage(parts: readonly { usage: BilledUsage; count: number }[]): BilledUsage {
  const total = { ...NO_USAGE };
  for (const { usage, count } of parts) {
    for (const key of Object.keys(total) as (keyof BilledUsage)[]) total[key] += usage[key] * count;
  }
  return total;
}

/** A call as it was counted on the embedded Firestore. */
export interface CountedCall {
  operation: string;
  /** Records of the response, or products. */
  size: number;
  documentReads: number;
  documentWrites: number;
  indexEntries: number;
  /** Index entries if every field were indexed. */
  indexEntriesWithoutExemptions: number;
  storedBytes: number;
  indexBytes: number;
  indexBytesWithoutExemptions: number;
  /** Processor time of the function, in ms. */
  cpuMs: number;
  /** Firestore calls that follow one another, for the waiting time in production. */
  sequentialCommits: number;
  bytesOut: number;
  memoryGiB: number;
}

/** Waiting time of a call in production: the delays of docs/scale.md. */
const SMALL_CALL_SECONDS = 0.03;
const COMMIT_SECONDS = 0.77;
/** Documents per second that a query delivers. */
const STREAMED_PER_SECOND = 10_000;

/** Instance time of a call that has its instance alone; with concurrent requests it is shared among them. */
export function estimateSeconds({ cpuMs, sequentialCommits, documentReads, documentWrites }: CountedCall): number {
  const waiting =
    documentWrites > 0
      ? 4 * SMALL_CALL_SECONDS + sequentialCommits * COMMIT_SECONDS
      : SMALL_CALL_SECONDS + documentReads / STREAMED_PER_SECOND;
  // Requests are billed in steps of 100 ms.
  return Math.ceil(10 * (waiting + cpuMs / 1000)) / 10;
}

/** @param isIndexed whether to count the index entries that the exemptions save */
export function toBilledUsage(call: CountedCall, isIndexed = false): BilledUsage {
  const seconds = estimateSeconds(call);
  const indexBytes = isIndexed ? call.indexBytesWithoutExemptions : call.indexBytes;
  return {
    ...NO_USAGE,
    documentReads: call.documentReads,
    documentWrites: call.documentWrites,
    storedGiBMonths: (call.storedBytes + indexBytes) / GIB,
    requests: 1,
    cpuSeconds: seconds,
    memoryGiBSeconds: seconds * call.memoryGiB,
    bytesOutGiB: call.bytesOut / GIB,
  };
}

/** A month of the scheduled sweep when nothing is due: one query a minute, which Firestore bills as a read although it finds nothing. */
export function createIdleSweepMonth(): BilledUsage {
  const deliveries = 30 * 24 * 60;
  const seconds = deliveries * 0.1;
  return {
    ...NO_USAGE,
    documentReads: deliveries,
    requests: deliveries,
    cpuSeconds: seconds,
    memoryGiBSeconds: seconds,
    scheduledJobs: 1,
  };
}

/** An audit that counts entries: the documents of each key with lists, as docs/operations.md#audit has them. */
export const AUDIT_READS_PER_KEY = 10;
