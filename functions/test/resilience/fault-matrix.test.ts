import { addPriceLists } from '../../src/add-price-lists';
import { LEASE_DURATION_MS, writeOptions } from '../../src/lib/runtime-options';
import { setTimeout } from 'node:timers/promises';
import type { Call, Code, Fault, FaultAction } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { CALL_TIMEOUTS_MS } from '../../src/lib/firestore/connection';
import { requireEmbedded } from '../support/firestore';
import { AFTER_NEXT_SWEEP, writeMarket } from '../support/price-lists';
import { setTimeoutHandler } from '../support/sdk-internals';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import { CREATION_CALLS, createLabelledBody, identifyCall, getRpc, useTestBatches, type CallName } from './calls';
import { checkInvariants } from './invariants';
import { monitorKeys } from './monitor';

/**
 * The fault matrix: every call of a creation meets every fault, before it takes effect and after. The creation must come
 * out as if nothing had happened, and so must its repetition. Beside them faults that no retry passes.
 *
 * Time is compressed: a call's deadline is a second, and pauses between tries, also the client library's own, by the
 * hook that it has for tests, are a fiftieth of what they are. So silence is a call without a response, which its deadline ends.
 */

const COMPRESSION = 50;

const codes: Code[] = [
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'INTERNAL',
  'ABORTED',
  'RESOURCE_EXHAUSTED',
  'CANCELLED',
  'UNKNOWN',
];
const faults: Record<string, FaultAction> = {
  ...Object.fromEntries(codes.map((code) => [code, { kind: 'error', code }])),
  'dropped connection': { kind: 'drop' },
  silence: { kind: 'hang' },
};
const points = ['before', 'after'] as const;

const service = useTestService({ addPriceLists });

/** Replaces the pauses of the service, and those of the client library. */
function replacePauses(pause: (ms: number, signal?: AbortSignal) => Promise<void>): void {
  systemClock.sleep = pause;
  setTimeoutHandler((resume, ms) => void pause(ms).then(resume));
}

beforeAll(() => {
  jest.replaceProperty(CALL_TIMEOUTS_MS, 'read', 1_000);
  jest.replaceProperty(CALL_TIMEOUTS_MS, 'commit', 1_000);
  useTestBatches();
  replacePauses((ms, signal) => setTimeout(ms / COMPRESSION, undefined, { signal }));
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

describe.each(Object.entries(faults))('%s', (fault, action) => {
  test('at any call passes unnoticed', async () => {
    const cells = CREATION_CALLS.flatMap((call) =>
      points.map((when) => ({ call, when, label: `${call}-${when}`.replace(/\W+/g, '-') })),
    );
    const tryCell = async ({ call, when, label }: (typeof cells)[number]) => {
      const injected = service.firestore.faults.inject({
        rpc: getRpc(call),
        match: (each) => identifyCall(label, each) === call,
        when,
        action,
      });
      const { first, again, other } = await sendRequests(label);
      expect([call, when, injected.count, first.status, first.headers['idempotent-replayed']]).toEqual([
        call,
        when,
        1,
        200,
        undefined,
      ]);
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

type Match = (call: Call) => boolean;

/** Lasting faults: an outage from a call on, and an error of it that no retry can pass. */
const lasting: Record<string, (name: CallName, label: string) => Fault[]> = {
  'UNAVAILABLE from then on': (name, label) => {
    let begun = false;
    const match: Match = (call) =>
      (begun ||= identifyCall(label, call) === name) && identifyCall(label, call) !== undefined;
    const action: FaultAction = { kind: 'error', code: 'UNAVAILABLE' };
    return [
      { rpc: 'BatchGetDocuments', match, times: 1_000, action },
      { rpc: 'Commit', match, times: 1_000, action },
    ];
  },
  'PERMISSION_DENIED once': (name, label) => {
    const match: Match = (call) => identifyCall(label, call) === name;
    return [{ rpc: getRpc(name), match, action: { kind: 'error', code: 'PERMISSION_DENIED' } }];
  },
};

/** A lasting fault of these leaves nothing: the next request creates. */
const BEFORE_THE_KEY_IS_OURS: readonly CallName[] = ['read the key and the market', 'claim'];

let skippedMs = 0;

/** Shortens pauses much more but counts them whole: minutes of retries take a second, and no lease ends for a slow machine. */
function countWholePauses(): void {
  const now = () => Date.now() + skippedMs;
  systemClock.now = now;
  replacePauses(async (ms, signal) => {
    const until = now() + Math.ceil(ms);
    await setTimeout(ms / COMPRESSION / 10, undefined, { signal });
    skippedMs += Math.max(0, until - now());
  });
}

describe('a fault that lasts', () => {
  beforeAll(() => {
    countWholePauses();
    // An attempt retries until its request's time is up: 1 s here, beside what is kept to fail it and to respond.
    const options: { timeoutSeconds: number } = writeOptions;
    options.timeoutSeconds = 61;
  });

  const cells = Object.entries(lasting).flatMap(([fault, faultsOf]) =>
    CREATION_CALLS.map((name) => [fault, name, faultsOf] as const),
  );
  test.each(cells)(
    '%s: %s returns an error, and leaves a key that can be resolved',
    async (_, name, faultsOf) => {
      const label = name.replace(/\W+/g, '-');
      const send = () => service.call('addPriceLists', { json: createLabelledBody(label) });
      const injected = faultsOf(name, label).map((fault) => service.firestore.faults.inject(fault));
      const first = await send();
      for (const fault of injected) fault.remove();
      skippedMs += LEASE_DURATION_MS;
      const again = await send();
      const record = (await check([label])).get(label);
      const status = record?.status;
      expect(first.status).toBe(500);
      expect(again.status).toBe(BEFORE_THE_KEY_IS_OURS.includes(name) ? 200 : 409);
      const isSwept = status === 'requires_review' && record?.failure_cause !== 'error';
      expect(again.headers['retry-after']).toEqual(isSwept ? AFTER_NEXT_SWEEP : undefined);
    },
    60_000,
  );
});
