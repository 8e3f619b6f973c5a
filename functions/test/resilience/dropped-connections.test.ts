import { addPriceLists } from '../../src/add-price-lists';
import { writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { parseSubmission } from '../support/submissions';
import { CREATION_CALLS, createLabelledBody, getRpc, identifyCall, useTestBatches } from './calls';
import { checkInvariants } from './invariants';

/**
 * The connection breaks at each call of a creation. The creation and its repetition succeed as if
 * nothing had happened. The schedules of ../simulation inject the other faults, at each call as well.
 */

const service = useTestService({ addPriceLists });

beforeAll(useTestBatches);

beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

const LABEL = 'boq-1';
const body = createLabelledBody(LABEL);
const another = createLabelledBody(LABEL, { name: 'another' });

describe.each(CREATION_CALLS)('at the call "%s"', (name) => {
  test.each(['before', 'after'] as const)(
    'a connection that breaks %s it takes effect passes unnoticed',
    async (when) => {
      const fault = service.firestore.faults.inject({
        rpc: getRpc(name),
        match: (call) => identifyCall(LABEL, call) === name,
        when,
        action: { kind: 'drop' },
      });
      const first = await service.call('addPriceLists', { json: body });
      expect([first.status, first.headers['idempotent-replayed'], fault.count]).toEqual([200, undefined, 1]);
      const again = await service.call('addPriceLists', { json: body });
      expect([again.status, again.headers['idempotent-replayed'], again.text]).toEqual([200, 'true', first.text]);
      const { status, json } = await service.call('addPriceLists', { json: another });
      expect([status, json]).toEqual([409, { error: 'Idempotency key already used with a different payload' }]);
      await checkInvariants(service.db, [body, another].map(parseSubmission));
    },
  );
});
