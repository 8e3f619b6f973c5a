import { addPriceLists } from '../../src/add-price-lists';
import { systemClock } from '../../src/lib/clock';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { speedUpTime } from '../support/clock';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import { createLabelledBody, identifyCall, lasting, replaceSizes, useTestBatches, type Match } from './calls';
import { checkInvariants } from './invariants';

/** A live request keeps its own claim while its calls hang, for longer than its lease. A second of the service takes a tenth of one. */

const KEY = 'own-claim';
const body = createLabelledBody(KEY, {}, 20);

const service = useTestService({ addPriceLists });
beforeAll(() => {
  useTestBatches();
  speedUpTime(10);
});
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

/** Loses the reply to the claim, and then for a time those to reads of the key; whoever still waits for one gets it in the end. */
function injectSilence(ms: number) {
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
  let isClaimed = false;
  const isClaim: Match = (call) => identifyCall(KEY, call) === 'claim';
  const isRead: Match = (call) => isClaimed && identifyCall(KEY, call)?.startsWith('read') === true;
  const claim = { rpc: 'Commit', match: isClaim, when: 'after' } as const;
  const reads = { rpc: 'BatchGetDocuments', match: lasting(ms, isRead), times: Infinity } as const;
  service.firestore.faults.inject({ ...claim, action: { kind: 'call', run: () => void (isClaimed = true) } });
  service.firestore.faults.inject({ ...claim, action: { kind: 'error', code: 'UNAVAILABLE' } });
  const silence = service.firestore.faults.inject({ ...reads, action: { kind: 'call', run: () => ended } });
  return { silence, end };
}

test('a claim whose reply is lost is its request’s own after 51 s without a read', async () => {
  // So small that the claim does not hold the whole payload.
  replaceSizes({ MAX_CHUNK_BYTES: 100, MAX_CLAIM_CHUNKS: 1 });
  const { silence, end } = injectSilence(51_000);
  const startedAt = systemClock.now();
  const response = service.call('addPriceLists', { json: body });
  const { status, headers } = await response.finally(() => end(undefined));
  expect([status, headers['idempotent-replayed']]).toEqual([200, undefined]);
  expect(silence.count).toBeGreaterThan(1);
  expect(systemClock.now() - startedAt).toBeGreaterThan(LEASE_DURATION_MS);
  await checkInvariants(service.db, [parseSubmission(body)]);
}, 60_000);
