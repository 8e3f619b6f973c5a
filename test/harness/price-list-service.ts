import { addPriceLists } from '../../functions/src/add-price-lists';
import { keyDocumentId } from '../../functions/src/lib/schemas/key-record';
import { WRITE_SIZES } from '../../functions/src/lib/work-context';
import { TEST_BATCH } from './batches';
import { submitAndFail, updateKey, writeMarket } from './price-lists';
import { useTestService } from './service';
import { createPriceListBody } from './submissions';

/** Gives each test of a file the operation add price lists over HTTP, a market, small batches, and functions that take a `boq_list_id`. */
export function usePriceListService() {
  const service = useTestService({ addPriceLists });
  beforeEach(async () => {
    jest.replaceProperty(WRITE_SIZES, 'batchEntries', TEST_BATCH);
    await writeMarket(service.db);
  });

  const createBody = (key: string) => createPriceListBody(TEST_BATCH + 1, { boq_list_id: key });

  const getKey = (key: string) => service.db.collection('price_list_idempotency').doc(keyDocumentId(key));

  /** Submits a price list that fails at its second commit of entries, then updates its key record. */
  async function failAttempt(key: string, update: Record<string, unknown> = {}): Promise<void> {
    await submitAndFail(service, createBody(key));
    await updateKey(getKey(key), update);
    service.log.length = 0;
  }

  async function expectReplayed(key: string): Promise<void> {
    const { status, headers } = await service.call('addPriceLists', { json: createBody(key) });
    expect([status, headers['idempotent-replayed']]).toEqual([200, 'true']);
  }

  return { service, createBody, getKey, failAttempt, expectReplayed };
}
