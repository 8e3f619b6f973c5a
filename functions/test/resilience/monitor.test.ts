import type { Call } from '../../../packages/firestore-local/src';
import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { requireEmbedded } from '../support/firestore';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { monitorKeys } from './monitor';

/** Tests of the tests: what another program writes into a creation is reported, and a creation by itself is not. */

const KEY = 'monitored';
const service = useTestService({ addPriceLists });

let endMonitor: ReturnType<typeof monitorKeys>;
beforeEach(async () => {
  service.reset();
  endMonitor = monitorKeys(requireEmbedded(service.firestore), Date.now);
  await writeMarket(service.db);
});

const getKey = () => service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY));

const create = () => service.call('addPriceLists', { json: createPriceListBody(1, { boq_list_id: KEY }) });

/** Creates the lists, and has another program write when the attempt is in progress. */
async function createBeside(write: (record: KeyRecord) => Promise<unknown>): Promise<void> {
  const isEntries = ({ request }: Call<'Commit'>) => request.writes.some(({ name }) => name.includes('/products/'));
  const run = async () => {
    await write((await getKey().get()).data() as KeyRecord);
  };
  service.firestore.faults.inject({ rpc: 'Commit', match: isEntries, action: { kind: 'call', run } });
  await create();
}

test('a creation moves its key twice', async () => {
  expect((await create()).status).toBe(200);
  expect([...endMonitor()]).toEqual([
    'nothing → processing, owner new, attempt new, resumes same, lists processing',
    'processing → completed, owner same, attempt same, resumes same, lists ready',
  ]);
});

test('a move that the explorer does not have is reported', async () => {
  await createBeside(({ creation }) =>
    service.db
      .batch()
      .update(getKey(), { status: 'requires_review', failure_cause: 'error', automatic_resumes: 2 })
      .update(service.db.doc(`expected_forward_costs/${creation?.expected_forward_cost_id}`), { status: 'failed' })
      .update(service.db.doc(`price_lists/${creation?.price_list_id}`), { status: 'failed' })
      .commit(),
  );
  expect(endMonitor).toThrow(
    'the explorer has no such move: processing → requires_review (permanent), owner new, attempt same, resumes 2 more, lists failed',
  );
});

test('a renewal that counts as a resume is reported', async () => {
  await createBeside(() => getKey().update({ automatic_resumes: 1 }));
  expect(endMonitor).toThrow('a renewal is no resume');
});

test('a list that becomes ready before its key is completed is reported', async () => {
  await createBeside(({ creation }) =>
    service.db.doc(`price_lists/${creation?.price_list_id}`).update({ status: 'ready' }),
  );
  expect(endMonitor).toThrow('is ready, but its attempt is processing');
});

test('an owner that changes under its lease is reported', async () => {
  await createBeside(() => getKey().update({ owner: 'another' }));
  expect(endMonitor).toThrow('an attempt keeps its owner until its lease expires');
});

test('a write to a completed key is reported', async () => {
  await create();
  await getKey().update({ updated_at: 1 });
  expect(endMonitor).toThrow('completed is final');
});

test('a key that is deleted is reported', async () => {
  await create();
  await getKey().delete();
  expect(endMonitor).toThrow('a key record is never deleted');
});
