import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { estimateRemainingMs } from '../../../src/price-lists/progress';
import { createKeyRecord } from '../../support/key-records';

const NOW = 1_000_000;

const record = (fields: Partial<KeyRecord>): KeyRecord =>
  createKeyRecord({ lease_expires_at: NOW + 60_000, products_count: 100_000, claimed_at: NOW, ...fields });

const progress = { entries_written: 50_000, entries_total: 200_000, started_at: NOW - 20_000, measured_at: NOW };

test.each<[string, Partial<KeyRecord>, number]>([
  ['a small list that was just claimed: a start and one round', { products_count: 3 }, 1_800],
  ['a large list that was just claimed: ten seconds at most', { products_count: 50_000 }, 10_000],
  ['an overdue list: as long again as it took', { products_count: 3, claimed_at: NOW - 10_000 }, 10_000],
  ['a list that is due now: the same', { products_count: 3, claimed_at: NOW - 1_800 }, 1_800],
  ['a list of some rounds: a start and each round', { products_count: 2_500 }, 5_000],
  [
    'a list long overdue, with its lease about to end: the rest of the lease',
    { products_count: 3, claimed_at: NOW - 90_000, lease_expires_at: NOW + 4_000 },
    4_000,
  ],
  [
    'progress long overdue: the rest of the lease',
    { progress: { ...progress, started_at: NOW - 320_000, measured_at: NOW - 300_000 } },
    60_000,
  ],
  ['a quarter written in 20 s: the other three take three times as long', { progress }, 60_000],
  [
    'nothing written at the first renewal: ten seconds at most',
    { progress: { ...progress, entries_written: 0 } },
    10_000,
  ],
  ['a pace that takes hours: five minutes', { progress: { ...progress, entries_written: 10 } }, 300_000],
  ['all written just now: one second', { progress: { ...progress, entries_written: 200_000 } }, 1_000],
])('%s', (_, fields, expected) => {
  expect(estimateRemainingMs(record(fields), NOW)).toBe(expected);
});
