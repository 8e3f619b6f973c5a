import type { PriceListInfo } from '../../functions/src/lib/schemas/add-price-lists';
import type { KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { resume } from '../../command/cli/resolve';
import { TEST_BATCH } from './batches';
import { failCommits, isEntries, isKeyEvent } from './commits';
import { useCreations } from './creations';
import { updateKey } from './price-lists';
import { createPriceListBody } from './submissions';

/** The fields of a key after a crash: the process of its attempt was killed, and the lease has expired. */
export const CRASHED = {
  status: 'processing',
  owner: 'crashed',
  failure: null,
  failure_cause: null,
  lease_expires_at: 1,
} as const;

export const STOPPED = { failure: 'the instance stops', failure_cause: 'stopped' } as const;

export const PRODUCTS = 2 * TEST_BATCH + 1;

export const createBody = (key: string, info: Partial<PriceListInfo> = {}) =>
  createPriceListBody(PRODUCTS, { boq_list_id: key, ...info });

/** Gives each test of a file an empty database with a market, and functions that create, fail and resume price lists without HTTP. */
export function useFailedAttempts() {
  const creations = useCreations();
  const { database, getKey } = creations;

  async function create(key: string, info?: Partial<PriceListInfo>) {
    const { result } = await creations.create(createBody(key, info));
    if (result instanceof Error) throw result;
    return result;
  }

  const readKey = async (key: string) => (await getKey(key).get()).data() as KeyRecord;

  /** Fails an attempt permanently at its third commit of entries, then updates its key record. */
  async function fail(key: string, update: Partial<KeyRecord> = {}): Promise<KeyRecord> {
    const fault = failCommits(database, isEntries, { nth: 3 });
    await expect(create(key)).rejects.toMatchObject({ code: 'creation_failed' });
    fault.remove();
    await updateKey(getKey(key), update);
    return readKey(key);
  }

  /** Begins an attempt and rejects its later commits, so that its key stays as after a crash. */
  async function crash(key: string): Promise<void> {
    const fault = failCommits(database, (call) => isEntries(call) || isKeyEvent(call));
    await expect(create(key)).rejects.toMatchObject({ code: 'creation_failed' });
    fault.remove();
  }

  const check = (...keys: string[]) => creations.check(...keys.map((key) => createBody(key)));

  const deletePayload = ({ document_id }: KeyRecord) =>
    database.client.doc(`price_list_requests/${document_id}/price_list_payload/0000`).delete();

  const getPriceList = ({ lists }: KeyRecord) => database.client.doc(`price_lists/${lists?.price_list_id}`);

  async function runResume(record: KeyRecord): Promise<unknown> {
    const { db } = database.open();
    const decision = { by: 'operator', reason: 'checked' };
    return resume(record, decision, db).catch((error: unknown) => error);
  }

  return { database, create, getKey, readKey, fail, crash, check, deletePayload, getPriceList, runResume };
}
