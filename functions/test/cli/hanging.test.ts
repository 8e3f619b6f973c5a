import { RpcError } from '../../../packages/firestore-local/src';
import * as connection from '../../cli/connection';
import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { speedUpTime } from '../support/clock';
import { submitAndFail, updateKey, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { runCommand } from './command';

/** Firestore accepts calls and never responds. Each command says so and fails; none exits with 0. */

const SPEED = 100;

/** The SDK itself ends a read after 10 s, so only a timer of the service can end it in this time. */
const TIMEOUT_MS = 8_000;

const service = useTestService({ addPriceLists });
beforeAll(async () => {
  useTestBatches();
  await writeMarket(service.db);
  await submitAndFail(service, createPriceListBody(TEST_BATCH + 1, { boq_list_id: 'a' }));
  const key = service.db.collection('price_list_idempotency').doc(keyDocumentId('a'));
  await updateKey(key, { failure_cause: 'stopped' });
  speedUpTime(SPEED);
  // This check would meet the fault first.
  jest.spyOn(connection, 'assertReachable').mockResolvedValue();
});
afterEach(() => service.firestore.faults.clear());

test.each([
  ['list', 'RunQuery'],
  ['show a', 'BatchGetDocuments'],
  ['resume a --yes', 'RunQuery'],
  ['release a --reason test --yes', 'Commit'],
  ['sweep', 'RunQuery'],
  ['audit', 'RunAggregationQuery'],
] as const)(
  '%s fails where %s gets no response',
  async (command, rpc) => {
    const { promise: silence, reject: end } = Promise.withResolvers<undefined>();
    service.firestore.faults.inject({ rpc, times: Infinity, action: { kind: 'call', run: () => silence } });
    silence.catch(() => undefined);
    const { code, err } = await runCommand(...command.split(' '));
    // The abandoned call ends here, because the SDK then loads a file, which Jest allows only during a test.
    end(new RpcError('UNAVAILABLE', 'the call is over'));
    await service.db.listCollections();
    expect([code, err]).toEqual([1, expect.stringContaining('Firestore does not respond (DEADLINE_EXCEEDED)')]);
  },
  TIMEOUT_MS,
);
