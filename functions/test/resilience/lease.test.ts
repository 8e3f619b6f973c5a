import { addPriceLists } from '../../src/add-price-lists';
import type { Call } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { AFTER_NEXT_SWEEP, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody, parseSubmission } from '../support/submissions';
import { checkInvariants } from './invariants';

/** The lease of an attempt: when it is renewed, what it stops, and what an identical request gets meanwhile. */

jest.setTimeout(180_000);

const SECOND = 1_000;
const KEY = 'boq-1';
/** Eight batches, four a list. */
const BODY = createPriceListBody(2_000);

const service = useTestService({ addPriceLists });
/** The clock stands still but for what a test lets pass, however slow the machine is. */
const START = Date.UTC(2026, 0, 1);
let shiftMs = 0;

beforeAll(() => {
  jest.spyOn(systemClock, 'now').mockImplementation(() => START + shiftMs);
  // Pauses between tries pass on the mocked clock.
  jest.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => {
    shiftMs += Math.ceil(ms);
    return new Promise((resolve, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      else setImmediate(resolve);
    });
  });
});
beforeEach(async () => {
  shiftMs = 0;
  service.reset();
  await writeMarket(service.db);
});

const submit = () => service.call('addPriceLists', { json: BODY });

const getNames = (call: Call<'Commit'>) => call.request.writes.map(({ name }) => name);
const isEntries = (call: Call<'Commit'>) => getNames(call).some((name) => name.includes('/products/'));
const isRenewal = (call: Call<'Commit'>) => {
  const [name, ...others] = getNames(call);
  return others.length === 0 && name?.includes('/price_list_idempotency/') === true;
};

/** Lets time pass at each commit of entries, before it takes effect. */
const passAtEntries = (ms: number, nth = 1, times = Number.MAX_SAFE_INTEGER) =>
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    nth,
    times,
    action: {
      kind: 'call',
      run: () => {
        shiftMs += ms;
      },
    },
  });

/** Counts the renewals, and the times between them. */
function watchRenewals(): number[] {
  const times: number[] = [];
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: isRenewal,
    times: Number.MAX_SAFE_INTEGER,
    action: {
      kind: 'call',
      run: () => {
        times.push(systemClock.now());
      },
    },
  });
  return times;
}

const getRecord = async () =>
  (await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get()).data();

test('an attempt that takes less than 20 s makes no renewal', async () => {
  const renewals = watchRenewals();
  passAtEntries(2 * SECOND);
  expect((await submit()).status).toBe(200);
  expect(renewals).toEqual([]);
});

test('an attempt that takes longer than its lease renews it, at most once per 20 s, and completes', async () => {
  const renewals = watchRenewals();
  const startedAt = systemClock.now();
  passAtEntries(11 * SECOND);
  const { status, headers } = await submit();
  expect([status, headers['idempotent-replayed']]).toEqual([200, undefined]);
  const elapsedMs = systemClock.now() - startedAt;
  expect(elapsedMs).toBeGreaterThan(LEASE_DURATION_MS);
  expect(renewals.length).toBeGreaterThan(0);
  expect(renewals.length).toBeLessThanOrEqual(elapsedMs / (20 * SECOND));
  await checkInvariants(service.db, [parseSubmission(BODY)]);
});

test('a renewal stores the progress, from which an identical request gets its Retry-After', async () => {
  passAtEntries(11 * SECOND);
  let retryAfter = 0;
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: isRenewal,
    when: 'after',
    action: {
      kind: 'call',
      run: async () => {
        const { status, headers } = await submit();
        expect(status).toBe(409);
        retryAfter = Number(headers['retry-after']);
      },
    },
  });
  expect((await submit()).status).toBe(200);
  const { progress } = (await getRecord()) as { progress: { entries_written: number; entries_total: number } };
  expect(progress).toMatchObject({ entries_total: 4_000 });
  expect(progress.entries_written).toBeGreaterThan(0);
  // About 1,000 entries were written in 22 s, so 3,000 take three times as long.
  expect(retryAfter).toBeGreaterThan(30);
  expect(retryAfter).toBeLessThan(150);
});

test('an outage that outlasts the lease ends in 200 if no other event was applied to the key', async () => {
  const outage = { match: isEntries, nth: 3, times: 30, action: { kind: 'error', code: 'UNAVAILABLE' } } as const;
  service.firestore.faults.inject({ rpc: 'Commit', ...outage });
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: isRenewal,
    times: 8,
    action: { kind: 'error', code: 'UNAVAILABLE' },
  });
  const startedAt = systemClock.now();
  const { status, headers } = await submit();
  expect([status, headers['idempotent-replayed']]).toEqual([200, undefined]);
  expect(systemClock.now() - startedAt).toBeGreaterThan(LEASE_DURATION_MS);
  await checkInvariants(service.db, [parseSubmission(BODY)]);
});

test('an attempt whose lease cannot be renewed writes no entry until it is, or another step ends it', async () => {
  passAtEntries(21 * SECOND, 1, 1);
  let entriesAfterwards = 0;
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    nth: 3,
    times: Number.MAX_SAFE_INTEGER,
    action: { kind: 'call', run: () => void (entriesAfterwards += 1) },
  });
  const renewals = { rpc: 'Commit', match: isRenewal } as const;
  service.firestore.faults.inject({ ...renewals, times: 11, action: { kind: 'error', code: 'INTERNAL' } });
  service.firestore.faults.inject({
    ...renewals,
    nth: 12,
    action: {
      kind: 'call',
      run: async () => {
        // A later request finds the lease expired.
        shiftMs += LEASE_DURATION_MS;
        const { status, headers } = await submit();
        expect([status, headers['retry-after']]).toEqual([409, AFTER_NEXT_SWEEP]);
      },
    },
  });
  const { status, headers } = await submit();
  expect([status, headers['retry-after']]).toEqual([409, AFTER_NEXT_SWEEP]);
  expect(entriesAfterwards).toBe(0);
  expect(await getRecord()).toMatchObject({ status: 'requires_review', failure_cause: 'lease_expired' });
});
