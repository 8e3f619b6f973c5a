import { addPriceLists } from '../../src/add-price-lists';
import type { Call, Code, Fault, FaultAction } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { FAILURE_RESERVE_MS, LEASE_DURATION_MS, RESPONSE_RESERVE_MS } from '../../src/lib/time-limits';
import { writeOptions } from '../../src/lib/runtime-options';
import { speedUpTime } from '../support/clock';
import { requireEmbedded } from '../support/firestore';
import { AFTER_NEXT_SWEEP, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import {
  CREATION_CALLS,
  createLabelledBody,
  getRpc,
  identifyCall,
  lasting,
  useTestBatches,
  type CallName,
  type Match,
} from './calls';
import { checkInvariants } from './invariants';
import { monitorKeys } from './monitor';

/**
 * The fault matrix: every call of a creation meets every fault, before it takes effect and after.
 * The creation must come out as if nothing had happened, and so must its repetition. Beside them
 * faults that no retry passes.
 *
 * A second of the service takes a tenth of one here, so that a silence that outlasts a lease takes
 * five.
 */

const SPEED = 10;

const codes: Code[] = [
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'INTERNAL',
  'ABORTED',
  'RESOURCE_EXHAUSTED',
  'CANCELLED',
  'UNKNOWN',
];

/** What happens to a call: once, or for a time however often it is made. */
const faults: Record<string, { action: FaultAction; forMs?: number }> = {
  // First, so that the hanging reads, which the SDK gives up after ten seconds of this machine's,
  // end before the suite.
  'silence for 51 s, or once before there is a claim': { action: { kind: 'hang' }, forMs: 51_000 },
  ...Object.fromEntries(codes.map((code) => [code, { action: { kind: 'error', code } }])),
  'dropped connection': { action: { kind: 'drop' } },
};
const points = ['before', 'after'] as const;

/** At these a client is told of a fault that lasts, and its next request creates: nothing is claimed yet. */
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

/** The responses of one cell: to the first request, to the same again, and to another payload for the key. */
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
    // A dropped connection takes every call on it along, so those cells are tried one at a time.
    const together = fault === 'dropped connection' ? 1 : cells.length;
    for (let i = 0; i < cells.length; i += together) await Promise.all(cells.slice(i, i + together).map(tryCell));
    await check(cells.map(({ label }) => label));
  }, 300_000);
});

/** The time of an attempt here, beside what is kept to fail it and to respond. */
const ATTEMPT_MS = 20_000;

/** An outage from a call on, and an error of it that no retry can pass. */
const hopeless: Record<string, (name: CallName, label: string) => Fault[]> = {
  'UNAVAILABLE from then on': (name, label) => {
    let begun = false;
    const match: Match = (call) =>
      (begun ||= identifyCall(label, call) === name) && identifyCall(label, call) !== undefined;
    const action: FaultAction = { kind: 'error', code: 'UNAVAILABLE' };
    return [
      { rpc: 'BatchGetDocuments', match, times: Infinity, action },
      { rpc: 'Commit', match, times: Infinity, action },
    ];
  },
  'PERMISSION_DENIED once': (name, label) => {
    const match: Match = (call) => identifyCall(label, call) === name;
    return [{ rpc: getRpc(name), match, action: { kind: 'error', code: 'PERMISSION_DENIED' } }];
  },
};

describe.each(Object.entries(hopeless))('%s', (fault, createFaults) => {
  /** The completion reads the key itself where the read ahead of it failed. */
  const isHopeless = (name: CallName) => !(fault === 'PERMISSION_DENIED once' && name === 'read the key');

  beforeAll(() => {
    const options: { timeoutSeconds: number } = writeOptions;
    const timeoutMs = ATTEMPT_MS + FAILURE_RESERVE_MS + RESPONSE_RESERVE_MS;
    jest.replaceProperty(options, 'timeoutSeconds', timeoutMs / 1_000);
  });

  test('at any call returns an error, and leaves a key that can be resolved', async () => {
    const tryCell = async (name: CallName) => {
      const label = name.replace(/\W+/g, '-');
      const send = () => service.call('addPriceLists', { json: createLabelledBody(label) });
      const injected = createFaults(name, label).map((fault) => service.firestore.faults.inject(fault));
      const startedAt = systemClock.now();
      const first = await send();
      for (const fault of injected) fault.remove();
      // An outage lets no failure be stored either: the lease of the attempt has to lapse.
      const isOutage = fault !== 'PERMISSION_DENIED once';
      const lapsesAt = isOutage ? startedAt + ATTEMPT_MS + LEASE_DURATION_MS : 0;
      const restMs = Math.max(0, lapsesAt - systemClock.now());
      await systemClock.sleep(restMs, AbortSignal.timeout(60_000));
      const again = await send();
      expect([name, first.status]).toEqual([name, 500]);
      expect([name, again.status]).toEqual([name, UNCLAIMED.includes(`${name} before`) ? 200 : 409]);
      return { name, label, retryAfter: again.headers['retry-after'] };
    };
    const cells = await Promise.all(CREATION_CALLS.filter(isHopeless).map(tryCell));
    const records = await check(cells.map(({ label }) => label));
    for (const { name, label, retryAfter } of cells) {
      const record = records.get(label);
      const isSwept = record?.status === 'requires_review' && record.failure_cause !== 'error';
      expect([name, retryAfter]).toEqual([name, isSwept ? AFTER_NEXT_SWEEP : undefined]);
    }
  });
});

test('an error of the read ahead of the completion changes nothing', async () => {
  const match = (call: Call) => identifyCall('read-ahead', call) === 'read the key';
  const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
  const injected = service.firestore.faults.inject({ rpc: 'BatchGetDocuments', match, action });
  const { status } = await service.call('addPriceLists', { json: createLabelledBody('read-ahead') });
  expect([status, injected.count]).toEqual([200, 1]);
  await check(['read-ahead']);
});
