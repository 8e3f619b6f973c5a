import { createPriceLists } from '../../../src/price-lists/create';
import { keyDocumentId } from '../../../src/lib/repositories/price-lists';
import { CALL_TIMEOUTS_MS } from '../../../src/lib/time-limits';
import { sweep } from '../../../src/price-lists/sweep';
import { TEST_BATCH, useTestBatches } from '../../resilience/calls';
import { checkInvariants } from '../../resilience/invariants';
import { TEST_START, useTestDatabase } from '../../support/database';
import { NO_LOG, updateKey, writeMarket } from '../../support/price-lists';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

/** Timeouts of calls, and what is expected of them, are so many times shorter. */
const SPEED = 50;

/** By how much one call without a response may delay the resume of an attempt. */
const MAX_DELAY_MS = 60_000 / SPEED;

/** What the rest of a sweep takes on a busy machine. */
const SLACK_MS = 2_000;

beforeAll(() => {
  const { read, commit, query } = CALL_TIMEOUTS_MS;
  Object.assign(CALL_TIMEOUTS_MS, { read: read / SPEED, commit: commit / SPEED, query: query / SPEED });
});
const database = useTestDatabase();
beforeAll(useTestBatches);
beforeEach(() => database.reset());

const submission = parseSubmission(createPriceListBody(TEST_BATCH + 1, { boq_list_id: 'a' }));

/** Leaves an attempt that crashed after its first batch of entries. */
async function crash(): Promise<void> {
  await writeMarket(database.client);
  const { db, context } = database.open();
  const action = { kind: 'error', code: 'PERMISSION_DENIED' } as const;
  const fault = database.firestore.faults.inject({ rpc: 'Commit', nth: 3, times: 100, action });
  await expect(
    createPriceLists(submission, { requestId: 'a', apiKeyId: 'api-key-1', log: NO_LOG }, db, context),
  ).rejects.toThrow();
  fault.remove();
  const lapsed = { status: 'processing', failure: null, failure_cause: null, lease_expires_at: TEST_START };
  await updateKey(database.client.collection('price_list_idempotency').doc(keyDocumentId('a')), lapsed);
}

async function sweepOnce(): Promise<number> {
  const { db, context } = database.open();
  const reporter = { onResult: () => undefined, onUnreadable: () => undefined };
  return (await sweep(db, context, { concurrency: 1, dryRun: false, all: false }, reporter)).resumed;
}

test.each(['RunQuery', 'BatchGetDocuments', 'Commit'] as const)(
  'one %s without a response delays a resume by at most a minute, whichever it is',
  async (rpc) => {
    for (let nth = 1; ; nth += 1) {
      database.reset();
      await crash();
      const fault = database.firestore.faults.inject({ rpc, nth, action: { kind: 'hang' } });
      const startedAt = performance.now();
      expect([nth, await sweepOnce()]).toEqual([nth, 1]);
      if (fault.count === 0) break;
      const pausesMs = (database.clock.now() - TEST_START) / SPEED;
      expect(performance.now() - startedAt + pausesMs).toBeLessThan(MAX_DELAY_MS + SLACK_MS);
      await checkInvariants(database.client, [submission]);
    }
  },
  60_000,
);
