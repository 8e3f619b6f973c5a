import { addPriceLists } from '../../src/add-price-lists';
import type { Call, FaultAction } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { speedUpTime } from '../support/clock';
import { requireEmbedded } from '../support/firestore';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import { CREATION_CALLS, createLabelledBody, getRpc, identifyCall, lasting, useTestBatches, type Match } from './calls';
import { checkInvariants } from './invariants';
import { monitorKeys } from './monitor';

/**
 * Every call of a creation meets every fault, before and after it takes effect. The creation and its
 * repetition must succeed as if nothing had happened. The suites in ../modules/price-lists cover
 * permanent errors. Time passes ten times as fast here, so 51 seconds take five.
 */

const SPEED = 10;

/** The faults. With `forMs`, every try of the call meets the fault for this time, otherwise only the first. */
const faults: Record<string, { action: FaultAction; forMs?: number }> = {
  // This fault comes first, because the SDK abandons hanging reads only after ten real seconds, which
  // must pass before the suite ends.
  'silence for 51 s, or once before there is a claim': { action: { kind: 'hang' }, forMs: 51_000 },
  UNAVAILABLE: { action: { kind: 'error', code: 'UNAVAILABLE' } },
  'dropped connection': { action: { kind: 'drop' } },
};
const points = ['before', 'after'] as const;

/** Moments without a claim. A lasting fault would fail the request here, so these meet it once. */
const UNCLAIMED = ['read the key and the market before', 'read the key and the market after', 'claim before'];

const service = useTestService({ addPriceLists });

beforeAll(() => {
  useTestBatches();
  speedUpTime(SPEED);
});

let endMonitor: ReturnType<typeof monitorKeys>;

beforeEach(async () => {
  service.reset();
  endMonitor = monitorKeys(requireEmbedded(service.firestore), () => systemClock.now());
  await writeMarket(service.db);
});

afterEach(() => {
  endMonitor();
});

/** Sends a request, repeats it, and sends another payload for the same key. */
async function sendRequests(label: string) {
  const first = await service.call('addPriceLists', { json: createLabelledBody(label) });
  const again = await service.call('addPriceLists', { json: createLabelledBody(label) });
  const other = await service.call('addPriceLists', { json: createLabelledBody(label, { name: 'another' }) });
  return { first, again, other };
}

const check = (labels: readonly string[]) =>
  checkInvariants(
    service.db,
    labels.flatMap((label) =>
      [createLabelledBody(label), createLabelledBody(label, { name: 'another' })].map(parseSubmission),
    ),
  );

describe.each(Object.entries(faults))('%s', (fault, { action, forMs }) => {
  test('at any call passes unnoticed', async () => {
    const cells = CREATION_CALLS.flatMap((call) =>
      points.map((when) => ({ call, when, label: `${call}-${when}`.replace(/\W+/g, '-') })),
    );
    const tryCell = async ({ call, when, label }: (typeof cells)[number]) => {
      const match: Match = (each) => identifyCall(label, each) === call;
      const isOnce = forMs === undefined || UNCLAIMED.includes(`${call} ${when}`);
      const which = isOnce ? { match } : { match: lasting(forMs, match), times: Infinity };
      const injected = service.firestore.faults.inject({ rpc: getRpc(call), ...which, when, action });
      const { first, again, other } = await sendRequests(label);
      expect([call, when, first.status, first.headers['idempotent-replayed']]).toEqual([call, when, 200, undefined]);
      if (isOnce) expect([call, when, injected.count]).toEqual([call, when, 1]);
      else expect([call, when, injected.count > 0]).toEqual([call, when, true]);
      expect([again.status, again.headers['idempotent-replayed'], again.text]).toEqual([200, 'true', first.text]);
      expect([other.status, other.json]).toEqual([
        409,
        { error: 'Idempotency key already used with a different payload' },
      ]);
    };
    // A dropped connection breaks all calls on it, so these cells run one at a time.
    const together = fault === 'dropped connection' ? 1 : cells.length;
    for (let i = 0; i < cells.length; i += together) await Promise.all(cells.slice(i, i + together).map(tryCell));
    await check(cells.map(({ label }) => label));
  }, 300_000);
});

test('a permanent error of the key read before the completion does not fail the creation', async () => {
  const match = (call: Call) => identifyCall('read-ahead', call) === 'read the key';
  const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
  const injected = service.firestore.faults.inject({ rpc: 'BatchGetDocuments', match, action });
  const { status } = await service.call('addPriceLists', { json: createLabelledBody('read-ahead') });
  expect([status, injected.count]).toEqual([200, 1]);
  await check(['read-ahead']);
});
