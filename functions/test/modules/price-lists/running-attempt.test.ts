import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import { TEST_BATCH } from '../../resilience/calls';
import { atCommit, failCommits, getCommits, isEntries, isKeyEvent } from '../../support/commits';
import { getRejection, getResponse, useCreations } from '../../support/creations';
import { TEST_START } from '../../support/database';
import { AFTER_NEXT_SWEEP } from '../../support/price-lists';
import { createPriceListBody } from '../../support/submissions';
import { waitFor } from '../../support/wait-for';

const { database, create, startAttempt, getKey, readKey, check } = useCreations();

describe('the lease of a creation', () => {
  const SECOND = 1_000;
  const body = createPriceListBody(4 * TEST_BATCH);

  /** Creates price lists. @returns the creation, and the seconds from the start to each renewal */
  async function createAndRecordRenewals() {
    const renewals: number[] = [];
    atCommit(
      database,
      (call) => isKeyEvent(call) && call.request.writes.length === 1,
      () => renewals.push((database.clock.now() - TEST_START) / SECOND),
      { times: Infinity },
    );
    const created = await create(body);
    return { renewals, created };
  }

  test.each([
    [19.999, 0],
    [20, 1],
  ])('that was taken %d s ago is renewed %i times', async (seconds, count) => {
    atCommit(database, isEntries, () => database.clock.advance(seconds * SECOND));
    const { renewals, created } = await createAndRecordRenewals();
    expect(renewals).toHaveLength(count);
    expect(created.result).toMatchObject({ replayed: false });
  });

  test('is renewed each time that it is due, with the progress so far', async () => {
    const attempt = await startAttempt();
    database.clock.advance(SECOND);
    for (const [seconds, entries_written] of [
      [19, 10],
      [19, 40],
      [1, 75],
    ] as const) {
      attempt.setProgress({ entries_written, entries_total: 100 });
      database.clock.advance(seconds * SECOND);
      await attempt.keepLease();
    }
    const now = TEST_START + 40 * SECOND;
    expect(await readKey()).toEqual({
      ...attempt.record,
      lease_expires_at: now + LEASE_DURATION_MS,
      sweep_due_at: now + LEASE_DURATION_MS,
      progress: { entries_written: 75, entries_total: 100 },
    });
  });

  test('is renewed once for all writes that wait for it', async () => {
    const attempt = await startAttempt();
    database.clock.advance(20 * SECOND);
    const calls = database.recordCalls();
    await Promise.all([attempt.keepLease(), attempt.keepLease(), attempt.call(() => Promise.resolve())]);
    expect(calls.map(({ rpc }) => rpc)).toEqual(['BatchGetDocuments', 'Commit']);
    expect((await readKey())['progress']).toEqual({ entries_written: 0, entries_total: 0 });
  });

  test.each([
    ['reads the key', 'BatchGetDocuments', 0],
    ['renews the lease', 'Commit', 1],
  ] as const)('allows no more writes if the time of the attempt ends while the service %s', async (_, rpc, commits) => {
    const time = new AbortController();
    const attempt = await startAttempt({ signal: time.signal });
    database.clock.advance(20 * SECOND);
    const calls = database.recordCalls();
    const run = () => time.abort(new Error('the time is up'));
    database.firestore.faults.inject({ rpc, action: { kind: 'call', run } });
    const write = jest.fn();
    await expect(attempt.call(write)).rejects.toThrow('the time is up');
    await waitFor(() => calls.some((call) => call.rpc === rpc));
    expect(write).not.toHaveBeenCalled();
    expect(getCommits(calls)).toHaveLength(commits);
  });

  test('is renewed again at once if it is due again after a slow renewal', async () => {
    const attempt = await startAttempt();
    database.clock.advance(20 * SECOND);
    atCommit(database, isKeyEvent, () => database.clock.advance(20 * SECOND));
    await attempt.keepLease();
    expect((await readKey())['lease_expires_at']).toBe(TEST_START + 40 * SECOND + LEASE_DURATION_MS);
  });

  test('does not limit the time that the completion stores', async () => {
    atCommit(database, isEntries, () => database.clock.advance(3 * LEASE_DURATION_MS));
    const response = JSON.parse(getResponse(await create(body))) as { price_list: { updated_at: number } };
    expect(response.price_list.updated_at).toBe(TEST_START + 3 * LEASE_DURATION_MS);
    await check(body);
  });

  test('that was lost stops the attempt, which changes nothing more (powertools-lambda-python #8049)', async () => {
    const calls = database.recordCalls();
    atCommit(database, isEntries, async () => {
      database.clock.advance(20 * SECOND);
      await getKey().update({ owner: 'another' });
    });
    const { result, logged } = await create(body);
    expect(result).toMatchObject({
      code: 'request_in_progress',
      cause: { message: 'another event was applied to the key after the lease of the attempt expired' },
    });
    expect(logged.at(-1)).toEqual(['superseded', expect.anything(), 'blocked']);
    expect(await readKey()).toMatchObject({ status: 'processing', owner: 'another' });
    const entries = getCommits(calls).filter(isEntries);
    expect(entries.length).toBeLessThanOrEqual(2);
  });

  test('that was lost refers the client to the next sweep if the key cannot be read', async () => {
    atCommit(database, isEntries, async () => {
      database.clock.advance(20 * SECOND);
      await getKey().update({ owner: 'another' });
      // The next read is that of the renewal. The one after it begins the failure of the attempt.
      const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
      database.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth: 2, action });
    });
    expect(getRejection(await create(body))).toEqual(['creation_failed', AFTER_NEXT_SWEEP]);
  });

  test('of a key that another attempt has completed gives the stored response, and logs `superseded`', async () => {
    atCommit(database, isEntries, async () => {
      database.clock.advance(20 * SECOND);
      await getKey().update({ owner: 'another', status: 'completed', response: '{}' });
    });
    const { result, logged } = await create(body);
    expect(result).toMatchObject({ response: '{}', replayed: true });
    expect(logged.at(-1)).toEqual(['superseded', expect.anything(), 'completed']);
  });

  test('allows retries of a write for longer than a minute', async () => {
    failCommits(database, isEntries, { code: 'UNAVAILABLE', times: 40 });
    const created = await create(body);
    expect(created.result).toMatchObject({ replayed: false });
    expect(database.clock.now() - TEST_START).toBeGreaterThan(60 * SECOND);
    await check(body);
  });
});
