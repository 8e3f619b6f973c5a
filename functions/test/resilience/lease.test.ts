import { addPriceLists } from '../../src/add-price-lists';
import type { Call } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody, parseSubmission } from '../support/submissions';
import { checkInvariants } from './invariants';

/** The lease of an attempt from outside; when it is renewed, and what else it stops: ../modules/price-lists/create-price-lists.test.ts. */

const SECOND = 1_000;
/** Eight batches, four a list. */
const BODY = createPriceListBody(2_000);

const service = useTestService({ addPriceLists });
/** The clock stands still but for what the test lets pass, however slow the machine is. */
let now = Date.UTC(2026, 0, 1);

beforeAll(() => {
  jest.spyOn(systemClock, 'now').mockImplementation(() => now);
});
beforeEach(async () => {
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

test('an attempt that takes longer than its lease renews it with its progress, from which an identical request gets its Retry-After', async () => {
  const startedAt = now;
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    times: Infinity,
    action: { kind: 'call', run: () => void (now += 11 * SECOND) },
  });
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
  const { status, headers } = await submit();
  expect([status, headers['idempotent-replayed']]).toEqual([200, undefined]);
  expect(now - startedAt).toBeGreaterThan(LEASE_DURATION_MS);
  // About 1,000 entries were written in 22 s, so 3,000 take three times as long.
  expect(retryAfter).toBeGreaterThan(30);
  expect(retryAfter).toBeLessThan(150);
  await checkInvariants(service.db, [parseSubmission(BODY)]);
}, 60_000);
