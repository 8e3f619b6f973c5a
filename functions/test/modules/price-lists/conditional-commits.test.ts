import type { Call } from '../../../../packages/firestore-local/src';
import { keyDocumentId } from '../../../src/lib/repositories/price-lists';
import { LEASE_DURATION_MS } from '../../../src/lib/time-limits';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import { createPriceLists } from '../../../src/price-lists/create';
import { release, resume } from '../../../src/price-lists/resume';
import { TEST_BATCH, useTestBatches } from '../../resilience/calls';
import { TEST_START, useTestDatabase } from '../../support/database';
import { writeMarket } from '../../support/price-lists';
import { createPriceListBody, parseSubmission } from '../../support/submissions';

/**
 * Between the read of a key and the commit of an event another process changes the key: the commit must not take effect. Each
 * event has its case, as each may lose its condition alone.
 */

const database = useTestDatabase();
beforeAll(useTestBatches);
beforeEach(async () => {
  database.reset();
  await writeMarket(database.client);
});

const getKey = () => database.client.collection('price_list_idempotency').doc(keyDocumentId('boq-1'));
const readKey = async () => (await getKey().get()).data() as KeyRecord;

const isEntries = ({ request }: Call<'Commit'>) => request.writes.some(({ name }) => name.includes('/products/'));
const isKey = ({ request }: Call<'Commit'>) =>
  request.writes.some(({ name }) => name.includes('/price_list_idempotency/')) &&
  !request.writes.some(({ name }) => name.includes('/price_list_requests/'));

const log = {
  claimed: () => undefined,
  completed: () => undefined,
  failed: () => undefined,
  superseded: () => undefined,
  left: () => undefined,
};

const create = async () => {
  const { db, context } = database.open();
  const submission = parseSubmission(createPriceListBody(2 * TEST_BATCH + 1));
  await createPriceLists(submission, { requestId: 'request-1', log }, db, context);
};

const refuseEntries = () =>
  database.firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    times: 1_000,
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });

/** @returns an attempt that requires review */
async function fail(): Promise<KeyRecord> {
  const fault = refuseEntries();
  await expect(create()).rejects.toMatchObject({ code: 'creation_failed' });
  fault.remove();
  return readKey();
}

const BY_OPERATOR = { by: 'operator', reason: null };
const RELEASED = { status: 'released', owner: '' } as const;
const TAKEN_OVER = {
  status: 'processing',
  owner: 'other',
  lease_expires_at: TEST_START + 10 * LEASE_DURATION_MS,
} as const;

test.each<[string, Partial<KeyRecord>, () => Promise<() => Promise<unknown>>]>([
  [
    'a renewal',
    RELEASED,
    () => {
      const run = () => database.clock.advance(LEASE_DURATION_MS / 2);
      database.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: 1, action: { kind: 'call', run } });
      return Promise.resolve(create);
    },
  ],
  [
    'a failure',
    TAKEN_OVER,
    () => {
      refuseEntries();
      return Promise.resolve(create);
    },
  ],
  [
    'a resume',
    TAKEN_OVER,
    async () => {
      const record = await fail();
      const { db, context } = database.open();
      return () => resume(record, BY_OPERATOR, db, context);
    },
  ],
  [
    'a release',
    TAKEN_OVER,
    async () => {
      const record = await fail();
      const { db, context } = database.open();
      return () => release(record, BY_OPERATOR, db, context);
    },
  ],
])('%s does not overwrite what became of the key since it was read', async (_, meanwhile, prepare) => {
  const act = await prepare();
  let changed: KeyRecord | undefined;
  const run = async () => {
    await getKey().update(meanwhile);
    changed = await readKey();
  };
  database.firestore.faults.inject({ rpc: 'Commit', match: isKey, times: 1, action: { kind: 'call', run } });
  await expect(act()).rejects.toThrow();
  expect(changed).toMatchObject(meanwhile);
  expect(await readKey()).toEqual(changed);
});
