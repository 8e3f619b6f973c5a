import { calculateCost, estimateSeconds, sumUsage, toBilledUsage, type CountedCall } from './model';
import { measureStorage } from './count';
import { MONTH, renderCosts } from './report';
import prices from './prices.json';
import type { MapValue } from '../../packages/firestore-local/src';

const call = (changes: Partial<CountedCall>): CountedCall => ({
  operation: 'add price lists',
  size: 1_000,
  documentReads: 2,
  documentWrites: 2_006,
  indexEntries: 100,
  indexEntriesWithoutExemptions: 4_000,
  storedBytes: 200_000,
  indexBytes: 10_000,
  indexBytesWithoutExemptions: 400_000,
  cpuMs: 50,
  sequentialCommits: 2,
  bytesOut: 1_000,
  memoryGiB: 1,
  ...changes,
});

test('a creation waits for four small calls and its sequential commits, billed in steps of 100 ms', () => {
  expect(estimateSeconds(call({}))).toBe(1.8);
});

test('a read waits for one small call and for its documents', () => {
  expect(estimateSeconds(call({ documentWrites: 0, documentReads: 10_000, cpuMs: 120 }))).toBe(1.2);
});

test('each quantity is multiplied by its own unit price', () => {
  const table = {
    source: '',
    date: '',
    currency: 'EUR',
    prices: {
      documentReads: { per: 1, price: 1 },
      documentWrites: { per: 10, price: 100 },
      storedGiBMonths: { per: 1, price: 1_000 },
      requests: { per: 1, price: 10_000 },
      cpuSeconds: { per: 1, price: 100_000 },
      memoryGiBSeconds: { per: 2, price: 2_000_000 },
      bytesOutGiB: { per: 1, price: 10_000_000 },
      scheduledJobs: { per: 1, price: 100_000_000 },
    },
  };
  const usage = {
    documentReads: 1,
    documentWrites: 2,
    storedGiBMonths: 3,
    requests: 4,
    cpuSeconds: 5,
    memoryGiBSeconds: 6,
    bytesOutGiB: 7,
    scheduledJobs: 8,
  };
  expect(calculateCost(usage, table)).toBe(876_543_021);
});

test('a month is the sum of its calls', () => {
  const usage = toBilledUsage(call({}));
  const total = sumUsage([
    { usage, count: 3 },
    { usage: toBilledUsage(call({ documentWrites: 10 })), count: 2 },
  ]);
  expect(total.documentWrites).toBe(3 * 2_006 + 20);
  expect(total.requests).toBe(5);
});

test('exempted fields have no index entries', () => {
  const name = 'projects/p/databases/(default)/documents/price_lists/l/products/a';
  const documents = new Map<string, MapValue>([[name, new Map([['price_list_price', 1.5]])]]);
  const fieldOverrides = [{ collectionGroup: 'products', fieldPath: 'price_list_price', indexes: [] }];
  const storage = measureStorage(documents, { fieldOverrides });
  expect(storage).toMatchObject({ indexEntries: 0, indexBytes: 0, indexEntriesWithoutExemptions: 2 });
  // The name: price_lists, l, products and a as strings, and 16 bytes; the field: its name as a string, and 8 bytes; 32 bytes.
  expect(storage.storedBytes).toBe(12 + 2 + 9 + 2 + 16 + 17 + 8 + 32);
});

test('the page follows the price table', () => {
  const calls = MONTH.map(({ operation, size }) => call({ operation, size }));
  const doubled = structuredClone(prices);
  for (const unit of Object.values(doubled.prices)) unit.price *= 2;
  const readMonth = (page: string) => Number(/It costs ([\d.]+) USD, with/.exec(page)?.[1]);
  const [once, twice] = [prices, doubled].map((table) => readMonth(renderCosts(calls, table, 'a machine')));
  expect(once).toBeGreaterThan(0);
  expect(twice).toBeCloseTo(2 * (once ?? NaN), 1);
});
