import { listOptions, rangeOptions, writeOptions } from '../../functions/src/lib/runtime-options';
import { MAX_ENTRIES_PER_COMMIT } from '../../functions/src/price-lists/commit-sizes';
import { billCreation, billRead, getAuditReads, REPLAY } from '../../functions/test/support/billed-documents';
import { CALLS_IN_A_ROW, PRODUCTION, renderCapacityTable } from '../capacity/capacity';
import { PERFORMANCE_PAGE, renderPerformancePage, renderTable } from '../tables';

/** The tables of docs/performance.md#costs: the documents that tests count, times prices. */

/**
 * In USD, of November 2026: cloud.google.com/firestore/pricing (multi-region nam5),
 * cloud.google.com/run/pricing (tier 1, request-based), internet egress of the premium tier,
 * cloud.google.com/scheduler/pricing.
 */
const PRICES = {
  reads: { per: 100_000, price: 0.06 },
  writes: { per: 100_000, price: 0.18 },
  storedGiB: { per: 1, price: 0.18 },
  requests: { per: 1_000_000, price: 0.4 },
  cpuSeconds: { per: 1, price: 0.000024 },
  memoryGiBSeconds: { per: 1, price: 0.0000025 },
  sentGiB: { per: 1, price: 0.12 },
  jobs: { per: 1, price: 0.1 },
};

type Usage = Partial<Record<keyof typeof PRICES, number>>;

const getCost = (usage: Usage): number =>
  sum(Object.entries(PRICES).map(([name, { per, price }]) => (usage[name as keyof Usage] ?? 0) * (price / per)));

/** Both entries of a product and its share of the payload, measured with those of bench/data.ts. */
const STORED_BYTES_PER_PRODUCT = 293;
const GIB = 2 ** 30;

interface Call {
  name: string;
  /** Records of the response, or products. */
  size: number;
  usage: Usage;
}

type Options = typeof listOptions | typeof rangeOptions | typeof writeOptions;

/** @param waitingMs for Firestore; billed in steps of 100 ms */
function createCall(name: string, size: number, { memory }: Options, waitingMs: number, usage: Usage): Call {
  const cpuSeconds = Math.ceil(waitingMs / 100) / 10;
  const memoryGiBSeconds = cpuSeconds * (memory === '1GiB' ? 1 : 0.5);
  return { name, size, usage: { ...usage, requests: 1, cpuSeconds, memoryGiBSeconds } };
}

/** @param recordBytes of a record in a response, measured with those of bench/data.ts */
function createRead(name: string, size: number, options: Options, recordBytes: number): Call {
  // A query delivers 10,000 documents per second: docs/performance.md#limits-and-what-moves-them.
  const waitingMs = PRODUCTION.smallCallMs + size / 10;
  const usage = { ...billRead(size), sentGiB: (size * recordBytes) / GIB };
  return createCall(name, size, options, waitingMs, usage);
}

function createCreation(size: number, payloadChunks = 1): Call {
  const { smallCallMs, commitMs } = PRODUCTION;
  const waitingMs = CALLS_IN_A_ROW * smallCallMs + (size / MAX_ENTRIES_PER_COMMIT) * commitMs;
  const storedGiB = (size * STORED_BYTES_PER_PRODUCT) / GIB;
  const usage = { ...billCreation(size, payloadChunks), storedGiB };
  return createCall('add price lists', size, writeOptions, waitingMs, usage);
}

const calls = [
  createRead('get markets', 50, listOptions, 82),
  createRead('get warehouses', 50, listOptions, 56),
  createRead('get teams', 1_000, listOptions, 56),
  createRead('get orders by team', 1_000, rangeOptions, 187),
  createRead('get orders by team', 10_000, rangeOptions, 187),
  createRead('supply orders invoices', 0, rangeOptions, 0),
  createCall('add price lists, replay', 1_000, writeOptions, PRODUCTION.smallCallMs, REPLAY),
  createCreation(1_000),
  createCreation(10_000),
  createCreation(100_000, 2),
];

/** A sweep whose query and count find nothing, every minute of a month: billed as 100 ms each. */
const sweeps = 30 * 24 * 60;
const seconds = { cpuSeconds: sweeps * 0.1, memoryGiBSeconds: sweeps * 0.1 };
const reads = sweeps * 2 * billRead(0).reads;
const idleSweep: Usage = { reads, requests: sweeps, ...seconds, jobs: 1 };
const tasks: [string, Usage][] = [
  ['the sweep, a month in which nothing is due', idleSweep],
  ['a resume of 100,000 products, at most, beyond its creation', { reads: 200_000 }],
  ['an audit of 1,000 keys of 1,000 products, without samples', { reads: getAuditReads(1_000, 0) }],
  ['the same with samples of 10 entries', { reads: getAuditReads(1_000, 10) }],
  ['the same with all entries', { reads: getAuditReads(1_000, 1_000) }],
];

const COLUMNS = 'Call|Size|Reads|Writes|Instance s|USD per 1,000 calls|USD per month, stored'.split('|');

/** The page with the tables of costs and scale. */
export const generateTables = async (): Promise<Record<string, string>> => ({
  [PERFORMANCE_PAGE]: await renderPerformancePage({ ...renderCosts(), creations: renderCapacityTable() }),
});

/** The tables by the names of their sections. */
function renderCosts(): Record<string, string> {
  const each = calls.map(({ name, size, usage: { storedGiB = 0, ...once } }) => {
    const documents = [count(once.reads), count(once.writes), String(once.cpuSeconds)];
    const costs = [once, { storedGiB }].map((usage) => usd(1000 * getCost(usage)));
    return [name, count(size), ...documents, ...costs];
  });
  return {
    calls: renderTable(COLUMNS, each, 1),
    tasks: renderTable(
      ['Task', 'Reads', 'USD'],
      tasks.map(([name, usage]) => [name, count(usage.reads), usd(getCost(usage))]),
      1,
    ),
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const count = (value = 0) => value.toLocaleString('en');
const usd = (value: number) => value.toFixed(value < 1 ? 3 : 2);
