import { addPriceLists } from '../../src/add-price-lists';
import type { Code, FaultAction } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody, parseSubmission } from '../support/submissions';
import { TEST_BATCH, useTestBatches } from './calls';
import { checkInvariants } from './invariants';

/** Outages and overloads of Firestore in the middle of a creation. A minute of the service's clock is 0.6 s here. */

const COMPRESSION = 100;

const service = useTestService({ addPriceLists });

beforeAll(() => {
  useTestBatches();
  const sleep = systemClock.sleep.bind(systemClock);
  const now = systemClock.now.bind(systemClock);
  const start = now();
  jest.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => sleep(ms / COMPRESSION, signal));
  jest.spyOn(systemClock, 'now').mockImplementation(() => start + (now() - start) * COMPRESSION);
});

beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

const RPCS = ['BatchGetDocuments', 'Commit'] as const;

/** Fails all calls from the nth commit on, for some seconds of the service's clock. */
function startOutage(nthCommit: number, seconds: number, code: Code): { failed: () => number } {
  let commits = 0;
  let failed = 0;
  let endsAt = Infinity;
  const match = ({ rpc }: { rpc: string }) => {
    if (rpc === 'Commit') commits += 1;
    if (commits < nthCommit) return false;
    if (endsAt === Infinity) endsAt = systemClock.now() + seconds * 1_000;
    if (systemClock.now() > endsAt) return false;
    failed += 1;
    return true;
  };
  const action: FaultAction = { kind: 'error', code };
  for (const rpc of RPCS) service.firestore.faults.inject({ rpc, match, times: 1_000_000, action });
  return { failed: () => failed };
}

const create = async (count: number) => {
  const body = createPriceListBody(count);
  const { status } = await service.call('addPriceLists', { json: body });
  await checkInvariants(service.db, [parseSubmission(body)]);
  return status;
};

/** The claim, six batches and the completion. */
const PRODUCTS = 2 * TEST_BATCH + 3;

test.each([
  ['the entries', 3],
  ['the completion', 8],
])(
  'an outage of 75 s that begins in %s ends in 200',
  async (_, nthCommit) => {
    const outage = startOutage(nthCommit, 75, 'UNAVAILABLE');
    expect(await create(PRODUCTS)).toBe(200);
    expect(outage.failed()).toBeGreaterThan(1);
  },
  300_000,
);

test('an outage of 20 s that begins with the claim ends in 200', async () => {
  const outage = startOutage(1, 20, 'UNAVAILABLE');
  expect(await create(3)).toBe(200);
  expect(outage.failed()).toBeGreaterThan(1);
}, 300_000);

test('after RESOURCE_EXHAUSTED the entries are written more slowly, and completed', async () => {
  const outage = startOutage(2, 75, 'RESOURCE_EXHAUSTED');
  expect(await create(PRODUCTS)).toBe(200);
  expect(outage.failed()).toBeGreaterThan(1);
}, 300_000);
