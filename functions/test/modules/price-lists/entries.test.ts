import fc from 'fast-check';
import type { ClaimedLists } from '../../../src/lib/schemas/key-record';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { findPendingEntries, getAllEntries, getWriteOrder } from '../../../src/price-lists/entries';
import { KeyStore } from '../../../src/price-lists/key-store';
import { LeaseLostError, RunningAttempt } from '../../../src/price-lists/running-attempt';
import type { ProductColumns } from '../../../src/price-lists/submission-parser';
import { useCreations } from '../../support/creations';
import { createKeyRecord, TEST_LISTS } from '../../support/key-records';
import { writeRecords } from '../../support/stored';

const { database, getKey, readKey } = useCreations();

describe('the search for entries that are not stored', () => {
  /** Stores entries of the price list, with any value as price. */
  const store = (entries: readonly (readonly [id: string, price: unknown])[]) =>
    writeRecords(
      database.client,
      'price_lists/price-list/products',
      Object.fromEntries(entries.map(([id, price]) => [id, { price_list_price: price }])),
    );

  const createProducts = (ids: readonly string[]): ProductColumns => ({
    ids: [...ids].sort(),
    expectedForwardCostPrices: new Float64Array(ids.length).fill(2),
    priceListPrices: new Float64Array(ids.length).fill(1.5),
  });

  const createAttempt = (lists: ClaimedLists | null) => {
    const { db, context } = database.open();
    const heldUntil = context.clock.elapsedMs() + LEASE_DURATION_MS;
    const held = { kind: 'owned', record: createKeyRecord({ lists }), heldUntil } as const;
    return new RunningAttempt(held, new KeyStore(getKey(), db, context), 'outage');
  };

  test('finds entries that are missing, or whose price is wrong or a text, in the order of writing', async () => {
    const ids = Array.from({ length: 40 }, (_, i) => `product-${i}`);
    const isPending = (i: number) => i % 3 === 0;
    await store(ids.map((id, i) => [id, isPending(i) ? (i % 2 === 0 ? 1 : '1.5') : 1.5] as const).slice(0, 37));
    const products = createProducts(ids);
    const found = await findPendingEntries(products, createAttempt(TEST_LISTS));
    const all = getAllEntries(products);
    expect(found.expected_forward_cost).toEqual(all.expected_forward_cost);
    const pending = new Set(ids.filter((_, i) => isPending(i) || i >= 37));
    expect(found.price_list).toEqual(all.price_list.filter((place) => pending.has(products.ids[place] ?? '')));
  });

  test('reads one list after the other, so nothing continues when one of them fails', async () => {
    const calls = database.recordCalls();
    database.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
    await expect(findPendingEntries(createProducts(['a']), createAttempt(TEST_LISTS))).rejects.toMatchObject({
      code: 7,
    });
    expect(calls.map(({ rpc }) => rpc)).toEqual(['RunQuery']);
  });

  test('renews the lease after a thousand entries, despite a short outage, and fails if the lease is lost', async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `product-${i}`);
    await store(ids.map((id) => [id, 1.5]));
    const attempt = createAttempt(TEST_LISTS);
    await getKey('boq-1').set(attempt.record);
    database.clock.advance(LEASE_DURATION_MS);
    database.firestore.faults.inject({ rpc: 'Commit', times: 3, action: { kind: 'error', code: 'UNAVAILABLE' } });
    const products = createProducts(ids);
    expect((await findPendingEntries(products, attempt)).price_list).toHaveLength(0);
    expect((await readKey())['lease_expires_at']).toBe(database.clock.now() + LEASE_DURATION_MS);
    database.clock.advance(LEASE_DURATION_MS);
    await getKey('boq-1').update({ owner: 'another' });
    await expect(findPendingEntries(products, attempt)).rejects.toThrow(LeaseLostError);
  });

  test('returns all entries for an attempt without lists', async () => {
    const products = createProducts(['a', 'b']);
    expect(await findPendingEntries(products, createAttempt(null))).toEqual(getAllEntries(products));
  });
});

describe('the order of writing', () => {
  test('contains each place once', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.integer({ min: 1, max: 600 }), (count, batchSize) => {
        const places = Array.from({ length: count }, (_, i) => i);
        expect([...getWriteOrder(count, batchSize)].sort((a, b) => a - b)).toEqual(places);
      }),
    );
  });

  test.each([100_000, 100_001, 100_499])('spreads each full batch of a list of %i entries', (count) => {
    const order = getWriteOrder(count, 500);
    for (let start = 0; start + 500 <= count; start += 500) {
      const tenths = new Set(order.subarray(start, start + 500).map((place) => Math.floor((10 * place) / count)));
      expect(tenths.size).toBe(10);
    }
  });
});
