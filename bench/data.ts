import { PRICE_LISTS_BODY_LIMITS } from '../functions/src/lib/payload-limits';
import type { PlainDocument } from '../emulator/src';

/** Creates records and request bodies for the benchmark. */

export const MARKETS = 50;

/** The market for which the benchmark creates price lists. */
const PRICE_LIST_MARKET = 'market-0';

const teamId = (orders: number): string => `team-with-${orders}`;

/** Creates the markets and, for each number in `orders`, that many orders of one team. */
export function createRecords(orders: readonly number[]): PlainDocument[] {
  return [
    { collection: 'markets', id: PRICE_LIST_MARKET, data: marketOf(0) },
    ...toRecords('markets', MARKETS - 1, marketOf),
    ...orders.flatMap((size) => {
      return toRecords('orders', size, (i) => orderOf(i, teamId(size)), `${size}-`);
    }),
  ];
}

type Data = PlainDocument['data'];

type CreateData = (i: number) => Data;

function toRecords(collection: string, count: number, create: CreateData, prefix = '') {
  return Array.from({ length: count }, (_, i): PlainDocument => {
    const id = `${prefix}${collection}-${String(i).padStart(7, '0')}`;
    return { collection, id, data: create(i) };
  });
}

/** The time of the first order. Each following order is one second later. */
const START = Date.UTC(2026, 0, 1);
const STATUSES = ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED'];

const marketOf = (i: number): Data => ({
  name: { en: `Market ${i}`, ar: `سوق ${i}`, fr: `Marché ${i}` },
  country_iso: 'EGY',
  currency_iso: 'egp',
  regions: ['north', 'south'],
});

/** Creates an order that takes about 570 bytes in Firestore, and about 200 bytes in a response. */
const orderOf = (i: number, team_id: string): Data => ({
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

export const createOrdersBody = (orders: number): Buffer =>
  json({
    team_id: teamId(orders),
    status: 'ALL',
    start_date: '2026-01-01',
    end_date: '2027-01-01',
  });

let lists = 0;

/** Creates the body of a price list with a new `boq_list_id`. */
export function createPriceListPayload(products: number): Buffer {
  lists += 1;
  const info = {
    market_id: PRICE_LIST_MARKET,
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

/** Creates a body of almost the maximum size. Its short ids and prices make room for nearly as many products as the service accepts. */
export function createDensestPayload(): Buffer {
  lists += 1;
  const start = `{"info":{"market_id":"${PRICE_LIST_MARKET}","boq_list_id":"boq-${lists}","currency_iso":"EGP","date":"06/2026","name":"J"},"products":{`;
  const products: string[] = [];
  for (let left = PRICE_LISTS_BODY_LIMITS.maxBytes - start.length - '}}'.length; ;) {
    const product = `"${products.length.toString(36)}":{"price_list_price":1,"expected_forward_cost_price":1}`;
    left -= product.length + ','.length;
    if (left < 0) return Buffer.from(`${start}${products.join()}}}`);
    products.push(product);
  }
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
