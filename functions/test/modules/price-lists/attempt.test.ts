import fc from 'fast-check';
import type { Call, Rpc } from '../../../../emulator/src';
import { systemClock, type Clock } from '../../../src/lib/clock';
import { LoggableError, StoppedError } from '../../../src/lib/errors';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { toBatches } from '../../../src/price-lists/entries';
import { TEST_BATCH } from '../../../../test/harness/batches';
import { atCommit, failCommits, getCommits, getNames, isEntries, isKeyEvent } from '../../../../test/harness/commits';
import { BODY, getRejection, useCreations } from '../../../../test/harness/creations';
import { TEST_START } from '../../../../test/harness/database';
import { AFTER_NEXT_SWEEP } from '../../../../test/harness/price-lists';
import { createPriceListBody } from '../../../../test/harness/submissions';
import { waitUntilFired } from '../../../../test/harness/wait-for';

const { database, create, startAttempt, getKey, readKey, check } = useCreations();

const SECOND = 1_000;
const body = createPriceListBody(4 * TEST_BATCH);
const REASON = '7 PERMISSION_DENIED: injected PERMISSION_DENIED';
const atRead = (run: () => unknown, nth = 1) =>
  database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth, action: { kind: 'call', run } });

const isEntriesOf = (list: string) => (call: Call<'Commit'>) =>
  isEntries(call) && getNames(call).some((name) => name.includes(`/${list}/`));

describe('the batches of a list', () => {
  /** Creates products. The price of each is the number in its id, and its cost is the negative of that number. */
  const createProducts = (count: number) => {
    const ids = Array.from({ length: count }, (_, i) => `${i}`);
    return { ids, prices: new Map(ids.map((id, i) => [id, { price_list_price: i, expected_forward_cost_price: -i }])) };
  };

  test('have each product once, with the price of that list, and are as few as their size allows', () =>
    fc.assert(
      fc.property(fc.nat(300), fc.integer({ min: 1, max: 100 }), (count, size) => {
        for (const [kind, sign] of [
          ['price_list', 1],
          ['expected_forward_cost', -1],
        ] as const) {
          const batches = [...toBatches(createProducts(count), kind, size)];
          expect(batches).toHaveLength(Math.ceil(count / size));
          expect(Math.max(0, ...batches.map((batch) => batch.length))).toBeLessThanOrEqual(size);
          const sorted = batches.flat().sort(([a], [b]) => Number(a) - Number(b));
          expect(sorted).toEqual(Array.from({ length: count }, (_, i) => [`${i}`, sign * i]));
        }
      }),
    ));

  test.each([100_000, 100_499])('each have ids from the whole range if the list has %i entries', (count) => {
    for (const batch of toBatches(createProducts(count), 'price_list', 500)) {
      const tenths = new Set(batch.map(([id]) => Math.floor((10 * Number(id)) / count)));
      expect(tenths.size).toBe(10);
    }
  });
});

describe('the lease of a creation', () => {
  /** Creates price lists. @returns the seconds from the start to each renewal */
  async function createAndRecordRenewals() {
    const renewals: number[] = [];
    const isRenewal = (call: Call<'Commit'>) => isKeyEvent(call) && call.request.writes.length === 1;
    const run = () => renewals.push((database.clock.now() - TEST_START) / SECOND);
    atCommit(database, isRenewal, run, { times: Infinity });
    await create(body);
    return renewals;
  }

  test('that is 20 s old after the last entries is renewed before the completion', async () => {
    // Both lists have one batch each.
    atCommit(database, isEntries, () => database.clock.advance(20 * SECOND), { nth: 2 });
    const renewals: string[] = [];
    const run = () => void renewals.push('event');
    atCommit(database, isKeyEvent, run, { times: Infinity });
    const created = await create(createPriceListBody(TEST_BATCH));
    expect(created.result).toMatchObject({ replayed: false });
    // The first commit is the renewal, and the second is the completion.
    expect(renewals).toHaveLength(2);
    expect((await readKey())['lease_expires_at']).toBe(TEST_START + 20 * SECOND + LEASE_DURATION_MS);
  });

  test('begins for its owner when the read of the claim is sent, because the read time can be as early as that', async () => {
    atRead(() => database.clock.advance(5 * SECOND));
    atCommit(database, isEntriesOf('price_lists'), () => database.clock.advance(15 * SECOND));
    expect(await createAndRecordRenewals()).toEqual([20]);
  });

  test('is renewed before a call if a renewal is due, and only then', async () => {
    const attempt = await startAttempt();
    database.clock.advance(SECOND);
    for (const seconds of [19, 19, 1, 19]) {
      database.clock.advance(seconds * SECOND);
      await attempt.call(() => Promise.resolve());
    }
    const lease_expires_at = TEST_START + 40 * SECOND + LEASE_DURATION_MS;
    expect(await readKey()).toEqual({ ...attempt.record, lease_expires_at, sweep_due_at: lease_expires_at });
  });

  test('is renewed once for all calls that wait for the renewal', async () => {
    const attempt = await startAttempt();
    database.clock.advance(20 * SECOND);
    const calls = database.recordCalls();
    await Promise.all([1, 2, 3].map(() => attempt.call(() => Promise.resolve())));
    expect(calls.map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments', 'Commit']);
  });

  test('is renewed again at once if a slow renewal ends when the next one is due', async () => {
    const attempt = await startAttempt();
    database.clock.advance(20 * SECOND);
    atCommit(database, isKeyEvent, () => database.clock.advance(20 * SECOND));
    await attempt.call(() => Promise.resolve());
    expect((await readKey())['lease_expires_at']).toBe(TEST_START + 40 * SECOND + LEASE_DURATION_MS);
  });

  test('begins again for its owner when the read of its renewal is sent', async () => {
    const attempt = await startAttempt();
    database.clock.advance(20 * SECOND);
    atRead(() => database.clock.advance(5 * SECOND));
    await attempt.call(() => Promise.resolve());
    database.clock.advance(15 * SECOND);
    await attempt.call(() => Promise.resolve());
    expect((await readKey())['lease_expires_at']).toBe(TEST_START + 40 * SECOND + LEASE_DURATION_MS);
  });
});

describe('an attempt that lost its key (powertools-lambda-python #8049)', () => {
  const EXPIRED = {
    status: 'requires_review',
    owner: '',
    failure: 'lease expired',
    failure_cause: 'lease_expired',
    failed_tries: 4,
  };

  test.each([
    ['another owner', { owner: 'another' }, ['request_in_progress', '10'], 'in_progress'],
    ['the sweep, which left the key to an operator,', EXPIRED, ['review_required', undefined], 'in_review'],
    ['an operator who released the key', { status: 'released' }, ['review_required', undefined], 'released'],
    [
      'another owner, which completed the key,',
      { owner: 'another', status: 'completed', response: '{}' },
      expect.objectContaining({ response: '{}', replayed: true }),
      'completed',
    ],
  ])(
    'to %s writes only the batches in progress, and its client gets the response for the new state',
    async (_, update, result, outcome) => {
      const calls = database.recordCalls();
      let settled: unknown;
      atCommit(database, isEntries, async () => {
        database.clock.advance(20 * SECOND);
        await getKey().update(update);
        settled = await readKey();
      });
      const created = await create(body);
      expect(getRejection(created)).toEqual(result);
      expect(created.logged.at(-1)).toEqual(['superseded', expect.anything(), outcome]);
      expect(await readKey()).toEqual(settled);
      // Each list finishes at most the batch that it had begun.
      expect(getCommits(calls).filter(isEntries).length).toBeLessThanOrEqual(2);
    },
  );

  test('because someone deleted the key record writes only the batches in progress; its client gets internal_error, and the audit names the request record and both lists', async () => {
    const calls = database.recordCalls();
    atCommit(database, isEntries, async () => {
      database.clock.advance(20 * SECOND);
      await getKey().delete();
    });
    const created = await create(body);
    expect(getRejection(created)).toEqual(['internal_error', undefined]);
    expect(created.result).toMatchObject({ needsOperator: false });
    expect(created.logged.at(-1)).toEqual(['superseded', expect.anything(), 'deleted']);
    expect((await getKey().get()).exists).toBe(false);
    expect(getCommits(calls).filter(isEntries).length).toBeLessThanOrEqual(2);
    const paths = ['price_list_requests', 'expected_forward_costs', 'price_lists'].map(
      (path) => new RegExp(`${path}/\\w+ belongs to no`),
    );
    for (const path of paths) await expect(check(body)).rejects.toThrow(path);
  });

  test('refers its client to the next sweep if it cannot read the key record', async () => {
    atCommit(database, isEntries, async () => {
      await getKey().update({ owner: 'another' });
      // The next read is that of the renewal. The read after that one belongs to the failure of the attempt.
      const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
      database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth: 2, action });
      // The clock advances only after the fault is injected, because the other list renews the lease as soon as a renewal is due.
      database.clock.advance(20 * SECOND);
    });
    expect(getRejection(await create(body))).toEqual(['creation_failed', AFTER_NEXT_SWEEP]);
  });
});

test('a field that another program adds to a list in progress is still there when the list is ready', async () => {
  atCommit(database, isEntriesOf('price_lists'), async () => {
    const { docs } = await database.client.collection('price_lists').get();
    for (const { ref } of docs) await ref.update({ 'checked by': 'ada' });
  });
  await create(body);
  const { docs } = await database.client.collection('price_lists').get();
  expect(docs.map((list) => list.data())).toMatchObject([{ status: 'ready', 'checked by': 'ada' }]);
});

test.each<[string, Rpc, (call: Call<'Commit'>) => boolean]>([
  ['commits of entries', 'Commit', isEntries],
  ['the commit of the renewal or the completion', 'Commit', isKeyEvent],
  ['all reads after the claim', 'BatchGetDocuments', () => true],
])('a creation completes despite an outage of more than a minute for %s', async (_, rpc, match) => {
  const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
  const isAfterClaim = (call: Call) => rpc !== 'Commit' || match(call as Call<'Commit'>);
  // The first read is that of the claim.
  const nth = rpc === 'Commit' ? 1 : 2;
  database.firestore.faults.inject({ rpc, match: isAfterClaim, nth, times: 40, action });
  const created = await create(body);
  expect(created.result).toMatchObject({ replayed: false });
  expect(created.logged.map(([event]) => event)).toEqual(['claimed', 'completed']);
  expect(database.clock.now() - TEST_START).toBeGreaterThan(60 * SECOND);
  await check(body);
});

describe('a creation that cannot continue', () => {
  test('after a permanent error fails its attempt and both lists, logs the failure, and needs an operator', async () => {
    failCommits(database, isEntries, { nth: 2 });
    atCommit(database, isEntries, () => database.clock.advance(SECOND));
    const created = await create();
    const { result, logged, context } = created;
    expect(getRejection(created)).toEqual(['creation_failed', undefined]);
    expect(result).toMatchObject({ message: REASON, needsOperator: true, cause: { code: 7 } });
    const attempt = expect.objectContaining({ owner: 'owner-1', status: 'processing' }) as object;
    expect(logged).toEqual([
      ['claimed', attempt],
      ['failed', attempt, REASON, true],
    ]);
    const failure = { failure: REASON, failure_cause: 'error', failed_tries: 1, updated_at: TEST_START + SECOND };
    expect(await readKey()).toMatchObject({ status: 'requires_review', ...failure });
    expect(Object.keys(context.counters.phasesMs)).toEqual(['claim', 'entries']);
    // Both lists are failed, and keep their other fields.
    await check(BODY);
    expect(getRejection(await create())).toEqual(['review_required', undefined]);
  });

  test.each([
    ['timeout', 1, new LoggableError('the time is up')],
    ['stopped', 0, new StoppedError('the instance stops')],
  ])(
    'refers its client to the sweep if the failure cause is %s; failed_tries is then %i',
    async (failure_cause, failed_tries, reason) => {
      const controller = new AbortController();
      atCommit(database, isEntries, () => controller.abort(reason));
      const created = await create(BODY, { signal: controller.signal });
      expect(getRejection(created)).toEqual(['creation_failed', AFTER_NEXT_SWEEP]);
      expect(created.logged.at(-1)).toEqual(['failed', expect.anything(), reason.message, false]);
      expect(await readKey()).toMatchObject({
        status: 'requires_review',
        failure: reason.message,
        failure_cause,
        failed_tries,
      });
      expect(getRejection(await create())).toEqual(['review_required', AFTER_NEXT_SWEEP]);
    },
  );

  test('after an error in one list fails its attempt only when the current batch of the other list has ended', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const held = atCommit(database, isEntriesOf('expected_forward_costs'), () => promise);
    const failed = failCommits(database, isEntriesOf('price_lists'));
    const created = create();
    await waitUntilFired(held, created);
    await waitUntilFired(failed, created);
    // A failure that did not wait would be stored during these reads.
    for (let reads = 0; reads < 10; reads += 1) expect(await readKey()).toMatchObject({ status: 'processing' });
    resolve(undefined);
    expect((await created).result).toMatchObject({ code: 'creation_failed' });
    expect(await readKey()).toMatchObject({ status: 'requires_review' });
  });

  test('because of one list stops the other list after its current batch', async () => {
    const calls = database.recordCalls();
    failCommits(database, isEntriesOf('price_lists'));
    await create(createPriceListBody(10 * TEST_BATCH));
    expect(getCommits(calls).filter(isEntries).length).toBeLessThan(5);
  });

  describe('and cannot store its failure', () => {
    test('refers the client to the sweep, for which the key is due when the lease expires', async () => {
      failCommits(database, isEntries);
      failCommits(database, isKeyEvent);
      const created = await create();
      const text = `${REASON}; the failure may not have been stored: ${REASON}`;
      expect(getRejection(created)).toEqual(['creation_failed', AFTER_NEXT_SWEEP]);
      expect(created.result).toMatchObject({ needsOperator: false });
      expect(created.logged.at(-1)).toEqual(['failed', expect.anything(), text, false]);
      const sweep_due_at = TEST_START + LEASE_DURATION_MS;
      expect(await readKey()).toMatchObject({ status: 'processing', failure: null, sweep_due_at });
    });

    test('retries the commit of the failure for a minute', async () => {
      failCommits(database, isEntries);
      failCommits(database, isKeyEvent, { code: 'UNAVAILABLE', times: Infinity });
      expect(getRejection(await create())).toEqual(['creation_failed', AFTER_NEXT_SWEEP]);
      expect(database.clock.now() - TEST_START).toBeGreaterThan(55 * SECOND);
      expect(database.clock.now() - TEST_START).toBeLessThanOrEqual(60 * SECOND);
    });

    test.each([
      [60_000, new Error('the time is up')],
      [2_000, new StoppedError('the instance stops', 2_000)],
    ])('waits no longer than the %i ms reserved for storing it, even if a call hangs', async (ms, reason) => {
      const reserves: number[] = [];
      /** Shortens the reserve to what the read before the commit needs. */
      const createTimeout: Clock['createTimeout'] = (timeoutMs, createReason, ...parents) => {
        const isReserve = createReason().message.includes('reserved');
        if (isReserve) reserves.push(timeoutMs);
        return systemClock.createTimeout(isReserve ? 500 : timeoutMs, createReason, ...parents);
      };
      const clock = Object.assign(database.clock, { createTimeout });
      const end = new AbortController();
      atCommit(database, isEntries, () => end.abort(reason));
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const held = atCommit(database, isKeyEvent, () => promise);
      const created = create(BODY, { signal: end.signal, clock });
      await waitUntilFired(held, created);
      const { result } = await created;
      resolve(undefined);
      expect(reserves).toEqual([ms]);
      expect(result).toHaveProperty('message', expect.stringContaining(`within the ${ms} ms reserved`));
    });
  });
});
