import type { Call } from '../../../../packages/firestore-local/src';
import { StoppedError } from '../../../src/lib/errors';
import { runAttempt } from '../../../src/price-lists/attempt';
import { TEST_BATCH } from '../../resilience/calls';
import { atCommit, failCommits, getCommits, getNames, isEntries, isKeyEvent } from '../../support/commits';
import { BODY, getRejection, useCreations } from '../../support/creations';
import { TEST_START } from '../../support/database';
import { AFTER_NEXT_SWEEP } from '../../support/price-lists';
import { createPriceListBody } from '../../support/submissions';

const { database, create, startAttempt, readKey, check } = useCreations();

describe('a creation that cannot continue', () => {
  const REASON = '7 PERMISSION_DENIED: injected PERMISSION_DENIED';

  test('fails its attempt and both lists, logs the failure, and needs an operator', async () => {
    failCommits(database, isEntries, { nth: 2 });
    atCommit(database, isEntries, () => database.clock.advance(1_000));
    const { result, logged, context } = await create();
    expect(result).toMatchObject({
      code: 'creation_failed',
      message: REASON,
      headers: {},
      needsOperator: true,
      cause: { code: 7 },
    });
    const attempt = expect.objectContaining({ owner: 'owner-1', status: 'processing' }) as object;
    expect(logged).toEqual([
      ['claimed', attempt],
      ['failed', attempt, REASON, true],
    ]);
    expect(await readKey()).toMatchObject({
      status: 'requires_review',
      failure: REASON,
      failure_cause: 'error',
      updated_at: TEST_START + 1_000,
    });
    const lists = await Promise.all(
      ['price_lists', 'expected_forward_costs'].map((collection) => database.client.collection(collection).get()),
    );
    // The failure keeps the other fields of the lists.
    const failed = { status: 'failed', updated_at: TEST_START + 1_000, created_at: TEST_START, name: 'June' };
    expect(lists.map(({ docs }) => docs.map((list) => list.data()))).toMatchObject([[failed], [failed]]);
    expect(Object.keys(context.counters.phasesMs)).toEqual(['claim', 'entries']);
    await check(BODY);
    expect(getRejection(await create())).toEqual(['review_required', undefined]);
  });

  test.each([
    ['timeout', new DOMException('the time is up', 'TimeoutError')],
    ['stopped', new StoppedError('the instance stops')],
  ])('for the cause %s is left to the sweep', async (failure_cause, reason) => {
    const controller = new AbortController();
    atCommit(database, isEntries, () => controller.abort(reason));
    const created = await create(BODY, { signal: controller.signal });
    expect(getRejection(created)).toEqual(['creation_failed', AFTER_NEXT_SWEEP]);
    expect(created.logged.at(-1)).toEqual(['failed', expect.anything(), reason.message, false]);
    expect(await readKey()).toMatchObject({ status: 'requires_review', failure: reason.message, failure_cause });
    expect(getRejection(await create())).toEqual(['review_required', AFTER_NEXT_SWEEP]);
  });

  test('because Firestore is unavailable is left to the sweep', async () => {
    const cause = Object.assign(new Error('no connection'), { code: 14 });
    expect(await runAttempt(await startAttempt(), () => Promise.reject(cause))).toEqual({
      outcome: { kind: 'failed', reason: 'no connection', retryAfterMs: 65_000 },
      cause,
    });
    expect(await readKey()).toMatchObject({ status: 'requires_review', failure_cause: 'unavailable' });
  });

  test('is reported only when the current batch of the other list has ended', async () => {
    const isOf = (list: string) => (call: Call<'Commit'>) =>
      isEntries(call) && getNames(call).some((name) => name.includes(`/${list}/`));
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const held = atCommit(database, isOf('expected_forward_costs'), () => promise);
    const failed = failCommits(database, isOf('price_lists'));
    const created = create();
    await Promise.all([held.fired, failed.fired]);
    // A failure that did not wait would be stored during these reads.
    for (let reads = 0; reads < 10; reads += 1) expect(await readKey()).toMatchObject({ status: 'processing' });
    resolve(undefined);
    expect((await created).result).toMatchObject({ code: 'creation_failed' });
    expect(await readKey()).toMatchObject({ status: 'requires_review' });
  });

  test('stops the other list after its current batch', async () => {
    const body = createPriceListBody(10 * TEST_BATCH);
    const calls = database.recordCalls();
    failCommits(database, (call) => isEntries(call) && getNames(call).some((name) => name.includes('/price_lists/')));
    await create(body);
    expect(getCommits(calls).filter(isEntries).length).toBeLessThan(5);
  });

  describe('and cannot store its failure either', () => {
    const STOPPED = new StoppedError('the instance stops');

    test.each([
      // A commit that fails can have stored the failure. Then only an operator can help.
      ['permanent', REASON, undefined, () => failCommits(database, isEntries)],
      [
        'transient',
        STOPPED.message,
        '65',
        (stop: AbortController) =>
          atCommit(database, isEntries, () => {
            database.clock.advance(19_000);
            stop.abort(STOPPED);
          }),
      ],
    ])(
      'for a %s cause sends a Retry-After only if the sweep resumes both a stored and an unstored failure',
      async (_, reason, retryAfter, fail) => {
        const controller = new AbortController();
        fail(controller);
        failCommits(database, isKeyEvent);
        const created = await create(BODY, { signal: controller.signal });
        const text = `${reason}; the failure could not be stored: ${REASON}`;
        expect(getRejection(created)).toEqual(['creation_failed', retryAfter]);
        expect(created.result).toMatchObject({ needsOperator: false });
        expect(created.logged.at(-1)).toEqual(['failed', expect.anything(), text, false]);
        expect(await readKey()).toMatchObject({ status: 'processing', failure: null });
      },
    );

    test('waits no longer than the time that a stop leaves', async () => {
      const stop = new AbortController();
      const { promise, resolve } = Promise.withResolvers<undefined>();
      atCommit(database, isEntries, () => stop.abort(new StoppedError('the instance stops', 20)));
      atCommit(database, isKeyEvent, () => promise);
      const { result } = await create(BODY, { signal: stop.signal });
      resolve(undefined);
      expect(result).toHaveProperty('message', expect.stringContaining('within the 20 ms reserved'));
    });
  });
});
