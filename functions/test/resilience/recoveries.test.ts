import type { Call } from '../../../packages/firestore-local/src';
import { addPriceLists } from '../../src/add-price-lists';
import { StoppedError } from '../../src/lib/errors';
import { getDatabase } from '../../src/lib/firestore/database';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { createRequestContext } from '../../src/lib/request-context';
import { MAX_AUTOMATIC_RESUMES } from '../../src/price-lists/key-state-machine';
import { updateKey, submitAndFail, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import { createLabelledBody, useTestBatches } from './calls';
import { checkInvariants } from './invariants';
import { runSweep } from './resolving';

/** Recoveries that meet the next trouble. Each has broken a service like this one in the field. */

const KEY = 'recovered';
const body = createLabelledBody(KEY);

const service = useTestService({ addPriceLists });
beforeAll(useTestBatches);
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
  await submitAndFail(service, body);
  await updateKey(getKey(), { status: 'processing', failure: null, failure_cause: null, lease_expires_at: 1 });
});

const getKey = () => service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY));

function sweepInstance(signal = new AbortController().signal) {
  const context = createRequestContext(signal);
  return runSweep(getDatabase(context), context);
}

async function expectReplayed(): Promise<void> {
  const { status, headers } = await service.call('addPriceLists', { json: body });
  expect([status, headers['idempotent-replayed']]).toEqual([200, 'true']);
  await checkInvariants(service.db, [parseSubmission(body)]);
}

const isEntries = ({ request }: Call<'Commit'>) => request.writes.some(({ name }) => name.includes('/products/'));

test('an outage of the database in the middle of a recovery costs it time, not the attempt (dbos-transact-py #716)', async () => {
  const action = { kind: 'error', code: 'UNAVAILABLE' } as const;
  for (const rpc of ['RunQuery', 'BatchGetDocuments', 'Commit'] as const)
    service.firestore.faults.inject({ rpc, times: 3, action });
  expect(await sweepInstance()).toMatchObject({ resumed: 1, deferred: 0 });
  await expectReplayed();
});

test('two recoverers, of which one is frozen while the other completes the key, write nothing twice (aegra #547)', async () => {
  let completeOther: () => Promise<void> = () => Promise.resolve();
  const frozen = service.firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    action: { kind: 'call', run: () => completeOther() },
  });
  completeOther = async () => {
    frozen.remove();
    await updateKey(getKey(), { lease_expires_at: 1 });
    expect(await sweepInstance()).toMatchObject({ resumed: 1 });
  };
  expect(await sweepInstance()).toMatchObject({ resumed: 1, left: 0 });
  expect((await getKey().get()).get('actions')).toHaveLength(2);
  await expectReplayed();
});

test('instances that are replaced while they sweep hand the attempt on, and the last completes it (dbos-transact-py #804)', async () => {
  for (let replaced = 1; replaced < MAX_AUTOMATIC_RESUMES; replaced += 1) {
    const instance = new AbortController();
    service.firestore.faults.inject({
      rpc: 'Commit',
      match: isEntries,
      action: { kind: 'call', run: () => instance.abort(new StoppedError('the instance is stopping')) },
    });
    expect(await sweepInstance(instance.signal)).toMatchObject({ resumed: 0, deferred: 1 });
    expect((await getKey().get()).data()).toMatchObject({ failure_cause: 'stopped', automatic_resumes: 0 });
  }
  expect(await sweepInstance()).toMatchObject({ resumed: 1 });
  await expectReplayed();
});
