import { Firestore, type DocumentData } from '@google-cloud/firestore';
import { PROJECT_ID, type BenchDatabase } from './stack';

/** The bench's data and request bodies. */

export const MARKETS = 50;

export const teamId = (orders: number): string => `team-with-${orders}`;

/** Writes markets, teams, and one team with `size` orders per size. */
export async function seed(
  { address }: Pick<BenchDatabase, 'address'>,
  teams: number,
  orders: readonly number[],
): Promise<void> {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  const firestore = new Firestore({ projectId: PROJECT_ID });
  await write(firestore, 'markets', MARKETS, marketOf);
  await write(firestore, 'teams', teams, (i) => ({
    name: `Team ${i}`,
    country_iso: 'egy',
    members: [`user-${i}`, `user-${i + 1}`],
    created_at: START + i,
  }));
  for (const size of orders) await write(firestore, 'orders', size, (i) => orderOf(i, teamId(size)), `${size}-`);
  await firestore.terminate();
}

/** The first order's time; each later one is a second younger. */
const START = Date.UTC(2026, 0, 1);
const STATUSES = ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED'];

const marketOf = (i: number): DocumentData => ({
  name: { en: `Market ${i}`, ar: `سوق ${i}`, fr: `Marché ${i}` },
  country_iso: 'EGY',
  currency_iso: 'egp',
  regions: ['north', 'south'],
});

/** About 600 bytes, of which 200 are in a response. */
const orderOf = (i: number, team_id: string): DocumentData => ({
  team_id,
  market_id: `market-${i % MARKETS}`,
  invoice_id: `invoice-${i}`,
  customer_data: {
    customer_id: `customer-${i % 5000}`,
    customer_name: `Customer number ${i % 5000}`,
    phone: '+20100000',
  },
  status: STATUSES[i % STATUSES.length],
  created_at: START + i * 1000,
  address: { street: `${i} Harbour Road`, city: 'Alexandria', country_iso: 'EGY' },
  lines: [
    { product_id: `product-${i % 999}`, quantity: 3, price: 12.25 },
    { product_id: `product-${i % 997}`, quantity: 1, price: 99.5 },
  ],
});

async function write(
  firestore: Firestore,
  collection: string,
  count: number,
  record: (i: number) => DocumentData,
  prefix = '',
): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < count) {
      const batch = firestore.batch();
      for (const end = Math.min(count, next + 500); next < end; next += 1) {
        batch.set(firestore.doc(`${collection}/${prefix}${collection}-${String(next).padStart(7, '0')}`), record(next));
      }
      await batch.commit();
    }
  };
  await Promise.all([writer(), writer(), writer(), writer()]);
}

/** Writes the market of price lists. */
export async function seedMarket({ address }: BenchDatabase): Promise<void> {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  const firestore = new Firestore({ projectId: PROJECT_ID });
  await firestore.doc('markets/market-0').set(marketOf(0));
  await firestore.terminate();
}

export const createOrdersBody = (orders: number): Buffer =>
  json({ team_id: teamId(orders), status: 'ALL', start_date: '2026-01-01', end_date: '2027-01-01' });

export const createSupplyOrdersBody = (): Buffer =>
  json({ team_id: 'team-1', status: null, start_date: '2026-01-01', end_date: '2027-01-01' });

let lists = 0;

/** A price list with a new `boq_list_id`. */
export function createPriceListPayload(products: number): Buffer {
  lists += 1;
  const info = {
    market_id: 'market-0',
    boq_list_id: `boq-${lists}`,
    currency_iso: 'EGP',
    date: '06/2026',
    name: 'June',
  };
  const entries = Array.from({ length: products }, (_, i) => [
    `product-${String((i * 7919) % products).padStart(6, '0')}`,
    { price_list_price: i + 12.25, expected_forward_cost_price: i / 8 },
  ]);
  return json({ info, products: Object.fromEntries(entries) as object });
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
