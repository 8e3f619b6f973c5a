import { addPriceLists } from '../../src/add-price-lists';
import type { Call } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { readAllDocuments } from '../support/firestore';
import { AFTER_NEXT_SWEEP, writeMarket } from '../support/price-lists';
import type { ReceivedResponse } from '../support/received-response';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import { TEST_BATCH, createLabelledBody, identifyCall, getRpc, useTestBatches, type CallName } from './calls';
import { checkInvariants } from './invariants';
import { resolveAfterLease } from './resolving';

/**
 * Stale attempts: an attempt is frozen at one of its calls until its lease expired and its key was
 * resolved; then it continues. It must change nothing, and its client must get a response that
 * matches the state of the key.
 */

const KEY = 'stale';
const body = createLabelledBody(KEY);
const otherBody = createLabelledBody(KEY, { name: 'another' });
const DIFFERS = { error: 'Idempotency key already used with a different payload' };
const UNRESOLVED = { error: 'Request is already being processed or requires review' };

const service = useTestService({ addPriceLists });
let shiftMs = 0;

beforeAll(() => {
  useTestBatches();
  jest.spyOn(systemClock, 'now').mockImplementation(() => Date.now() + shiftMs);
});

beforeEach(async () => {
  shiftMs = 0;
  service.reset();
  await writeMarket(service.db);
});

const submit = (json: unknown = body) => service.call('addPriceLists', { json });
const check = () => checkInvariants(service.db, [body, otherBody].map(parseSubmission));

/** Resolves when a call of the attempt has ended. */
function hasEnded(name: CallName): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = service.firestore.observe((call) => {
    if (identifyCall(KEY, call) === name) resolve(undefined);
  });
  return promise.finally(stop);
}

/** What is written beside a call renews the lease. */
const BESIDE: Partial<Record<CallName, CallName[]>> = {
  'price entries, batch 1': ['cost entries, batch 2'],
  'price entries, batch 2': ['cost entries, batch 2'],
  'read the key': ['cost entries, batch 2', 'price entries, batch 2'],
};

/** Sends a request and freezes its attempt at a call until the lease expired; `lost`: after that call took effect, its reply lost. */
async function frozenAt(name: CallName, lost = false) {
  const { promise: thawed, resolve: thaw } = Promise.withResolvers<undefined>();
  const match = (call: Call) => identifyCall(KEY, call) === name;
  const fault = { rpc: getRpc(name), match, when: lost ? 'after' : 'before' } as const;
  const frozen = service.firestore.faults.inject({ ...fault, action: { kind: 'call', run: () => thawed } });
  const written = Promise.all((BESIDE[name] ?? []).map(hasEnded));
  if (lost) service.firestore.faults.inject({ ...fault, action: { kind: 'error', code: 'INTERNAL' } });
  const response = submit();
  await frozen.fired;
  await written;
  shiftMs = LEASE_DURATION_MS + 1_000;
  return {
    /** Lets the attempt continue, and waits for the response to its client. */
    wake: (): Promise<ReceivedResponse> => {
      thaw(undefined);
      return response;
    },
  };
}

/** Every document, with the time of its last write. */
const everything = async (): Promise<Map<string, string>> =>
  new Map((await readAllDocuments(service.db)).map(({ ref, updateTime }) => [ref.path, updateTime.valueOf()]));

const entriesBatch = 'price entries, batch 1';

describe.each([entriesBatch, 'price entries, batch 2', 'read the key', 'complete'] as const)(
  'frozen at: %s',
  (name) => {
    test('and met by a later request, it changes nothing (powertools-lambda-python #8049)', async () => {
      const staleAttempt = await frozenAt(name);
      const met = await submit();
      // The sweep will resume it.
      expect([met.status, met.json, met.headers['retry-after']]).toEqual([409, UNRESOLVED, AFTER_NEXT_SWEEP]);
      const before = await everything();

      const response = await staleAttempt.wake();
      expect([response.status, response.json, response.headers['retry-after']]).toEqual([
        409,
        UNRESOLVED,
        AFTER_NEXT_SWEEP,
      ]);
      const after = await everything();
      // The batch that was under way is all that lands; it is of a list that stays failed.
      const landed = [...after].filter(([path, time]) => before.get(path) !== time).map(([path]) => path);
      expect(landed.every((path) => /^price_lists\/\w+\/products\/stale\./.test(path))).toBe(true);
      expect(landed).toHaveLength(name === entriesBatch ? TEST_BATCH : name === 'price entries, batch 2' ? 1 : 0);
      expect((await check()).get(KEY)?.status).toBe('requires_review');
    });

    test('and released by an operator, then claimed with another payload, it returns 409', async () => {
      const staleAttempt = await frozenAt(name);
      await resolveAfterLease(service.db, 'release', KEY);
      const created = await submit(otherBody);
      expect(created.status).toBe(200);

      const response = await staleAttempt.wake();
      expect([response.status, response.json]).toEqual([409, UNRESOLVED]);
      expect((await submit(otherBody)).text).toBe(created.text);
      expect((await submit()).json).toEqual(DIFFERS);
      const record = (await check()).get(KEY);
      expect([record?.status, record?.history.length]).toEqual(['completed', 1]);
    });

    test('and released by an operator, then claimed again, it returns the response of the later attempt', async () => {
      const staleAttempt = await frozenAt(name);
      await resolveAfterLease(service.db, 'release', KEY);
      const created = await submit();
      const response = await staleAttempt.wake();
      expect([response.status, response.text, response.headers['idempotent-replayed']]).toEqual([
        200,
        created.text,
        'true',
      ]);
      await check();
    });

    test('and resumed by an operator, it returns the stored response', async () => {
      const staleAttempt = await frozenAt(name);
      await resolveAfterLease(service.db, 'resume', KEY);
      const stored = await submit();
      expect([stored.status, stored.headers['idempotent-replayed']]).toEqual([200, 'true']);

      const response = await staleAttempt.wake();
      expect([response.status, response.text, response.headers['idempotent-replayed']]).toEqual([
        200,
        stored.text,
        'true',
      ]);
      expect((await submit()).text).toBe(stored.text);
      await check();
    });
  },
);

test('a claim that took effect, got an error, and is retried after a release claims nothing', async () => {
  const staleAttempt = await frozenAt('claim', true);
  await resolveAfterLease(service.db, 'release', KEY);
  const before = await everything();
  const response = await staleAttempt.wake();
  expect([response.status, response.json]).toEqual([409, UNRESOLVED]);
  expect(await everything()).toEqual(before);
  await check();
});
