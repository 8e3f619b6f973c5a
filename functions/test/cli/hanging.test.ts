import { RpcError } from '../../../packages/firestore-local/src/internal';
import * as connection from '../../cli/connection';
import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { speedUpTime } from '../support/clock';
import { submitAndFail, updateKey, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { runCommand } from './command';

/** A Firestore that accepts calls and never responds: each command says so and fails, and none ends without its work. */

const SPEED = 100;

const service = useTestService({ addPriceLists });
beforeAll(async () => {
  useTestBatches();
  await writeMarket(service.db);
  await submitAndFail(service, createPriceListBody(TEST_BATCH + 1, { boq_list_id: 'a' }));
  const key = service.db.collection('price_list_idempotency').doc(keyDocumentId('a'));
  await updateKey(key, { failure_cause: 'stopped' });
  speedUpTime(SPEED);
  // Whether the database can be reached, a command asks only at its start.
  jest.spyOn(connection, 'assertReachable').mockResolvedValue();
});
afterEach(() => service.firestore.faults.clear());

test.each([
  ['list', 'RunQuery'],
  ['list', 'RunAggregationQuery'],
  ['show a', 'BatchGetDocuments'],
  ['resume a --yes', 'RunQuery'],
  ['resume a --yes', 'Commit'],
  ['release a --reason test --yes', 'Commit'],
  ['sweep', 'RunQuery'],
  ['sweep --all', 'RunQuery'],
  ['audit', 'RunAggregationQuery'],
  ['audit --full', 'BatchGetDocuments'],
] as const)('%s fails where %s gets no response', async (command, rpc) => {
  const { promise: silence, reject: end } = Promise.withResolvers<undefined>();
  service.firestore.faults.inject({ rpc, times: Infinity, action: { kind: 'call', run: () => silence } });
  silence.catch(() => undefined);
  const { code, err } = await runCommand(...command.split(' '));
  // A call that the command has given up ends now: the SDK then loads a file, which Jest allows only during its tests.
  end(new RpcError('UNAVAILABLE', 'the call is over'));
  await service.db.listCollections();
  expect([code, err]).toEqual([1, expect.stringContaining('Firestore does not answer (DEADLINE_EXCEEDED)')]);
});
