import { gzipSync } from 'node:zlib';
import { getMaxValues, PRICE_LISTS_BODY_LIMITS } from '../functions/src/lib/payload-limits';
import type { PlainDocument } from '../emulator/src';

/** The records and request bodies of the benchmark. */

export const MARKETS = 50;

/** The market of the price lists that are created. */
const PRICE_LIST_MARKET = 'market-0';

const teamId = (orders: number): string => `team-with-${orders}`;

/** Creates the markets, and the orders of one team for each number in `orders`. */
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

/** Creates an order of about 600 bytes. About 200 of these bytes are in a response. */
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

/** Creates a body with nearly the most products that the service accepts. Their ids and prices are as short as possible. */
export function createDensestPayload(): Buffer {
  lists += 1;
  const item = (n: number) => `"${toId(n)}":{"price_list_price":1,"expected_forward_cost_price":1}`;
  return fillBody({ start: `{${createInfo(PRICE_LIST_MARKET)},"products":{`, item, values: 3, end: '}}' });
}

const toId = (n: number): string => n.toString(36);

const createInfo = (market: string): string =>
  `"info":{"market_id":"${market}","boq_list_id":"boq-${lists}","currency_iso":"EGP","date":"06/2026","name":"J"}`;

/** The parts of a body with many items. `values` is the number of values in each item. */
interface BodyKind {
  start: string;
  item: (n: number) => string;
  values: number;
  end: string;
}

/** Creates a body with nearly as many items as the limits for bytes and values allow. */
function fillBody({ start, item, values, end }: BodyKind): Buffer {
  const { maxBytes } = PRICE_LISTS_BODY_LIMITS;
  const maxItems = Math.floor(getMaxValues(maxBytes) / values) - 10;
  const items: string[] = [];
  for (let left = maxBytes - start.length - end.length; items.length < maxItems;) {
    const text = item(items.length);
    left -= text.length + 1;
    if (left < 0) break;
    items.push(text);
  }
  return Buffer.from(start + items.join() + end);
}

const PRICES = '"price_list_price":1.5,"expected_forward_cost_price":2.5';
const UNUSED = { start: `{${createInfo('none')},"unused":{`, values: 1, end: '}}' };
const PRODUCTS = { start: `{${createInfo('none')},"products":{`, values: 3, end: '}}' };

/** Of 32 kinds of bodies, which were as long as the limits allow, these took the most memory. No market has their `market_id`. */
const HOSTILE_KINDS: Record<string, BodyKind> = {
  'dense products': { ...PRODUCTS, item: (n) => `"${toId(n)}":{${PRICES}}` },
  'identifiers with escapes': { ...PRODUCTS, item: (n) => `"\\"${toId(n)}":{${PRICES}}` },
  'products with a member each': { ...PRODUCTS, values: 4, item: (n) => `"${toId(n)}":{"u${toId(n)}":0,${PRICES}}` },
  'names with escapes': { ...UNUSED, item: (n) => `"\\n${toId(n)}":0` },
  'long names': { ...UNUSED, item: (n) => `"${toId(n).padEnd(12, '.')}":""` },
};

/** Returns the kind of each hostile body, and the body as gzip. */
export const createHostileBodies = (): [kind: string, body: Buffer][] =>
  Object.entries(HOSTILE_KINDS).map(([kind, each]) => [kind, gzipSync(fillBody(each), { level: 1 })]);

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
