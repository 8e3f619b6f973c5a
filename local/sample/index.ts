import { resolve } from 'node:path';
import type { Firestore } from '@google-cloud/firestore';
import { formatPriceList, createSamplePriceList } from './price-list';
import { createSampleRecords } from './records';

/** The seed of everything that is called a sample: another one makes another company, just as plausible. */
export const SAMPLE_SEED = 20_261_101;

/** The price list to post that stands in the repository: where, and what it says. */
export const EXAMPLE_PRICE_LIST = 'docs/examples/price-list.json';
export const createExamplePriceList = (): string => formatPriceList(createSamplePriceList(SAMPLE_SEED, 1_203));

/** A request body to try for each operation that takes one; `@` before a file to send, as curl has it. */
export const sampleBodies: Readonly<Record<string, string | undefined>> = {
  getTeams: undefined,
  getMarkets: undefined,
  getWarehouses: undefined,
  getOrdersByTeam: JSON.stringify({
    team_id: 'team-east-africa',
    status: 'DELIVERED',
    start_date: '2026-07-01',
    end_date: '2026-08-01',
  }),
  supplyOrdersInvoices: JSON.stringify({
    team_id: 'team-east-africa',
    status: null,
    start_date: '2026-07-01',
    end_date: '2026-10-01',
  }),
  addPriceLists: `@${resolve(EXAMPLE_PRICE_LIST)}`,
};

/**
 * Writes the sample records into a database that holds nothing at all, in one commit: all of them or none.
 * @returns how many were written: 0 where there was anything
 */
export async function seedIfEmpty(firestore: Firestore): Promise<number> {
  if ((await firestore.listCollections()).length > 0) return 0;
  const records = createSampleRecords(SAMPLE_SEED);
  const batch = firestore.batch();
  for (const { collection, id, data } of records) batch.set(firestore.collection(collection).doc(id), data);
  await batch.commit();
  return records.length;
}
