import {
  AUDIT_READS_PER_KEY,
  calculateCost,
  createIdleSweepMonth,
  estimateSeconds,
  sumUsage,
  toBilledUsage,
  type CountedCall,
  type PriceTable,
} from './model';

/** A month that docs/costs.md prices: calls of each kind. */
export const MONTH = [
  { operation: 'get markets', size: 50, count: 100_000 },
  { operation: 'get warehouses', size: 50, count: 100_000 },
  { operation: 'get teams', size: 1_000, count: 30_000 },
  { operation: 'get orders by team', size: 1_000, count: 50_000 },
  { operation: 'add price lists', size: 1_000, count: 1_000 },
  { operation: 'add price lists', size: 100_000, count: 10 },
] as const;

/** docs/costs.md, whole. */
export function renderCosts(calls: readonly CountedCall[], table: PriceTable, machine: string): string {
  const find = (operation: string, size: number): CountedCall => {
    const call = calls.find((each) => each.operation === operation && each.size === size);
    if (call === undefined) throw new Error(`nothing was counted for ${operation} of ${size}`);
    return call;
  };
  const largest = calls.filter(({ operation }) => operation === 'add price lists').at(-1);
  if (largest === undefined) throw new Error('no price list was counted');
  const month = MONTH.map(({ operation, size, count }) => ({ usage: toBilledUsage(find(operation, size)), count }));
  const storage = (call: CountedCall, isIndexed = false) => toBilledUsage(call, isIndexed).storedGiBMonths;
  const monthlyStorage = table.prices.storedGiBMonths.price;
  const saved = (storage(largest, true) - storage(largest)) * monthlyStorage;
  const idleSweep = createIdleSweepMonth();
  const readPrice = table.prices.documentReads.price / table.prices.documentReads.per;
  return `# Costs

What a call uses, what it costs, and what a month costs. \`npm run costs\` writes this page: it counts on the embedded Firestore, and multiplies by the unit prices in [prices.json](../bench/costs/prices.json). To use other prices, replace that file and run it again.

## Unit prices

Source: ${table.source}; ${table.date}, without free quotas and discounts. Check them before you rely on them.

${renderTable(
  ['Unit', 'Per', table.currency],
  Object.entries(table.prices).map(([name, { per, price }]) => [UNITS[name] ?? name, count(per), String(price)]),
)}

## Usage of each call

Index entries and bytes are those of the documents that a call writes. Processor time: ${machine}. Instance time is what the platform bills for a request that has its instance alone: processor time and the waiting of [the scale model](scale.md), in steps of 100 ms; concurrent requests share it.

${renderTable(
  [
    'Call',
    'Size',
    'Reads',
    'Writes',
    'Index entries',
    'Stored',
    'Indexes',
    'Processor s',
    'Instance s',
    'GiB s',
    'Response',
  ],
  calls.map((call) => [
    call.operation,
    count(call.size),
    count(call.documentReads),
    count(call.documentWrites),
    count(call.indexEntries),
    bytes(call.storedBytes),
    bytes(call.indexBytes),
    (call.cpuMs / 1000).toFixed(3),
    estimateSeconds(call).toFixed(1),
    (estimateSeconds(call) * call.memoryGiB).toFixed(1),
    bytes(call.bytesOut),
  ]),
)}

## Cost of each call

"Once" is without storage; "per month" is the storage of what the call has written.

${renderTable(
  ['Call', 'Size', `Once, ${table.currency} per 1,000 calls`, `Per month, ${table.currency} per 1,000 calls`],
  calls.map((call) => {
    const usage = toBilledUsage(call);
    const once = calculateCost({ ...usage, storedGiBMonths: 0 }, table);
    const monthly = usage.storedGiBMonths * monthlyStorage;
    return [call.operation, count(call.size), (1000 * once).toFixed(3), (1000 * monthly).toFixed(3)];
  }),
)}

## A price list of ${count(largest.size)} products

It costs ${calculateCost({ ...toBilledUsage(largest), storedGiBMonths: 0 }, table).toFixed(2)} ${table.currency} once, of which document writes are ${((largest.documentWrites / table.prices.documentWrites.per) * table.prices.documentWrites.price).toFixed(2)}, and ${(storage(largest) * monthlyStorage).toFixed(4)} ${table.currency} per month of storage.

## A month

${renderTable(
  ['Call', 'Size', 'Calls'],
  MONTH.map(({ operation, size, count: times }) => [operation, count(size), count(times)]),
)}

It costs ${calculateCost(sumUsage(month), table).toFixed(2)} ${table.currency}, with the storage of its price lists for that month. Storage accumulates: each later month pays for the lists of every month before.

## The sweep and the audit

The [sweep](operations.md#sweep) costs ${calculateCost(idleSweep, table).toFixed(2)} ${table.currency} a month while nothing is due: ${count(idleSweep.requests)} deliveries of one read and 100 ms, and one job of Cloud Scheduler. A resume reads the stored payload and every entry that the attempt had written, and writes the rest. For a price list of ${count(largest.size)} products that is at most ${(2 * largest.size * readPrice).toFixed(2)} ${table.currency} of reads more than the creation would have cost without the crash.

An [audit](operations.md#audit) that counts entries reads ${AUDIT_READS_PER_KEY} documents a key: 1,000 keys of 1,000 products cost ${(1_000 * AUDIT_READS_PER_KEY * readPrice).toFixed(3)} ${table.currency}; with \`--full\`, which reads every entry, ${((1_000 * AUDIT_READS_PER_KEY + 2_000_000) * readPrice).toFixed(2)} ${table.currency}.

## What the index exemptions save

Prices, payloads and stored responses have no index ([firestore.indexes.json](../firestore.indexes.json)). For a price list of ${count(largest.size)} products:

${renderTable(
  ['', 'With exemptions', 'Without'],
  [
    ['Index entries', count(largest.indexEntries), count(largest.indexEntriesWithoutExemptions)],
    ['Index storage', bytes(largest.indexBytes), bytes(largest.indexBytesWithoutExemptions)],
    [
      `Storage, ${table.currency} per month`,
      (storage(largest) * monthlyStorage).toFixed(4),
      (storage(largest, true) * monthlyStorage).toFixed(4),
    ],
  ],
)}

They save ${saved.toFixed(4)} ${table.currency} per month and list. Index entries are not billed when they are written, but each makes a commit slower.
`;
}

const UNITS: Record<string, string> = {
  documentReads: 'document reads',
  documentWrites: 'document writes',
  storedGiBMonths: 'GiB stored for a month',
  requests: 'requests',
  cpuSeconds: 'seconds of one CPU',
  memoryGiBSeconds: 'GiB seconds of memory',
  bytesOutGiB: 'GiB out to the internet',
  scheduledJobs: 'jobs of Cloud Scheduler for a month',
};

const count = (value: number) => value.toLocaleString('en');
const bytes = (value: number) => (value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`);

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}
