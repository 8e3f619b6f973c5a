import type { PlainDocument } from '../../emulator/src';
import { createRandom, type Random } from '../random';

const SEED = 20_261_101;

/** The start (inclusive) and the end (exclusive) of the two years of orders and supply orders. */
const SAMPLE_START = Date.UTC(2024, 10, 1);
const SAMPLE_END = Date.UTC(2026, 10, 1);

const ORDERS = 380;
const SUPPLY_ORDERS = 56;
const DAY_MS = 86_400_000;

/**
 * Creates the records of a supplier of building materials in Africa: its organisation, and two years of orders and supply orders.
 * Some are malformed: a field is missing, empty, blank or of the wrong type, or a code is in lower case or has spaces around it.
 * All times are integer Unix milliseconds. Every call returns the same records, few enough for one commit.
 */
export function createSampleRecords(): PlainDocument[] {
  const random = createRandom(SEED);
  return [
    ...toRecords('teams', { ...teams, ...malformedTeams }),
    ...toRecords('markets', { ...markets, ...malformedMarkets }),
    ...toRecords('warehouses', { ...warehouses, ...malformedWarehouses }),
    ...toRecords('orders', { ...createOrders(random), ...malformedOrders }),
    ...toRecords('supply_orders', { ...createSupplyOrders(random), ...malformedSupplyOrders }),
  ];
}

const toRecords = (collection: string, byId: Record<string, Record<string, unknown>>) =>
  Object.entries(byId).map(([id, data]): PlainDocument => ({ collection, id, data }));

const teams = {
  'team-east-africa': { name: 'East Africa', country_iso: 'KEN' },
  'team-west-africa': { name: 'West Africa', country_iso: 'GHA' },
  'team-francophone': { name: 'Afrique francophone', country_iso: 'CIV' },
  'team-north-africa': { name: 'North Africa', country_iso: 'MAR' },
  'team-southern-africa': { name: 'Southern Africa', country_iso: 'ZAF' },
};

const malformedTeams = {
  'team-islands': { name: 'Indian Ocean Islands', country_iso: ' mus ' },
  'team-special-projects': { name: 'Special Projects' },
  'team-legacy-7': { name: 7, country_iso: '' },
};

const markets = {
  'mkt-ken': { name: { en: 'Kenya', sw: 'Kenya', fr: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' },
  'mkt-tza': { name: { en: 'Tanzania', sw: 'Tanzania', fr: 'Tanzanie' }, country_iso: 'TZA', currency_iso: 'TZS' },
  'mkt-uga': { name: { en: 'Uganda', sw: 'Uganda', fr: 'Ouganda' }, country_iso: 'UGA', currency_iso: 'UGX' },
  'mkt-gha': { name: { en: 'Ghana', fr: 'Ghana' }, country_iso: 'GHA', currency_iso: 'GHS' },
  'mkt-nga': { name: { en: 'Nigeria', fr: 'Nigéria' }, country_iso: 'NGA', currency_iso: 'NGN' },
  'mkt-civ': { name: { en: 'Ivory Coast', fr: 'Côte d’Ivoire' }, country_iso: 'CIV', currency_iso: 'XOF' },
  'mkt-sen': { name: { en: 'Senegal', fr: 'Sénégal' }, country_iso: 'SEN', currency_iso: 'XOF' },
  'mkt-cmr': { name: { en: 'Cameroon', fr: 'Cameroun' }, country_iso: 'CMR', currency_iso: 'XAF' },
  'mkt-mar': { name: { en: 'Morocco', fr: 'Maroc', ar: 'المغرب' }, country_iso: 'MAR', currency_iso: 'MAD' },
  'mkt-egy': { name: { en: 'Egypt', fr: 'Égypte', ar: 'مصر' }, country_iso: 'EGY', currency_iso: 'EGP' },
  'mkt-zaf': { name: { en: 'South Africa', af: 'Suid-Afrika' }, country_iso: 'ZAF', currency_iso: 'ZAR' },
  'mkt-moz': { name: { en: 'Mozambique', pt: 'Moçambique' }, country_iso: 'MOZ', currency_iso: 'MZN' },
};

const malformedMarkets = {
  'mkt-rwa': { name: { en: 'Rwanda', fr: 'Rwanda' }, country_iso: 'rwa', currency_iso: ' rwf' },
  'mkt-ben': { name: { fr: 'Bénin' }, country_iso: 'BEN', currency_iso: 'XOF' },
  'mkt-zmb': { name: 'Zambia', country_iso: '   ', currency_iso: 'ZMW' },
  'mkt-eth': { name: { en: '' }, country_iso: 231, currency_iso: null },
};

const warehouses = {
  'wh-nbo-1': { name: 'Nairobi Embakasi', country_iso: 'KEN' },
  'wh-nbo-2': { name: 'Nairobi Industrial Area', country_iso: 'KEN' },
  'wh-mba-1': { name: 'Mombasa Changamwe', country_iso: 'KEN' },
  'wh-dar-1': { name: 'Dar es Salaam Kurasini', country_iso: 'TZA' },
  'wh-ebb-1': { name: 'Kampala Namanve', country_iso: 'UGA' },
  'wh-acc-1': { name: 'Accra Tema Port', country_iso: 'GHA' },
  'wh-kms-1': { name: 'Kumasi Kaase', country_iso: 'GHA' },
  'wh-los-1': { name: 'Lagos Apapa', country_iso: 'NGA' },
  'wh-abj-1': { name: 'Abidjan Treichville', country_iso: 'CIV' },
  'wh-dkr-1': { name: 'Dakar Mbao', country_iso: 'SEN' },
  'wh-dla-1': { name: 'Douala Bonabéri', country_iso: 'CMR' },
  'wh-cas-1': { name: 'Casablanca Aïn Sebaâ', country_iso: 'MAR' },
  'wh-cai-1': { name: 'Cairo 6th of October', country_iso: 'EGY' },
  'wh-jnb-1': { name: 'Johannesburg Germiston', country_iso: 'ZAF' },
  'wh-dur-1': { name: 'Durban Prospecton', country_iso: 'ZAF' },
  'wh-mpm-1': { name: 'Maputo Matola', country_iso: 'MOZ' },
};

const malformedWarehouses = {
  'wh-kgl-1': { name: 'Kigali Special Economic Zone', country_iso: ' rwa ' },
  'wh-coo-1': { country_iso: 'BEN' },
  'wh-lun-1': { name: '', country_iso: 'ZMB' },
  'wh-add-1': { name: 'Addis Ababa Kaliti', country_iso: '  ' },
  'wh-legacy-3': { name: ['Kisumu'], country_iso: 404 },
};

type Choice<T> = readonly [T, ...T[]];

/** The markets that each team trades in. */
const teamMarkets: Choice<readonly [team_id: keyof typeof teams, markets: Choice<keyof typeof markets>]> = [
  ['team-east-africa', ['mkt-ken', 'mkt-tza', 'mkt-uga']],
  ['team-west-africa', ['mkt-gha', 'mkt-nga']],
  ['team-francophone', ['mkt-civ', 'mkt-sen', 'mkt-cmr']],
  ['team-north-africa', ['mkt-mar', 'mkt-egy']],
  ['team-southern-africa', ['mkt-zaf', 'mkt-moz']],
];

const customerNames = ['Acacia', 'Baobab', 'Blue Nile', 'Harmattan', 'Kilele', 'Marula', 'Sahel', 'Zambezi'] as const;
const customerTrades = ['Builders', 'Civil Works', 'Construction', 'Contractors', 'Developments', 'Homes'] as const;

function createCustomer(random: Random): { customer_id: string; customer_name: string } {
  const name = random.int(0, customerNames.length - 1);
  const business = random.int(0, customerTrades.length - 1);
  return {
    customer_id: `cus-${100 + name * customerTrades.length + business}`,
    customer_name: `${customerNames[name]} ${customerTrades[business]} Ltd`,
  };
}

/** Returns the times of `count` records in the two years of the sample, oldest first, in the working hours of East Africa. */
function createTimes(count: number, random: Random): number[] {
  const days = (SAMPLE_END - SAMPLE_START) / DAY_MS;
  const moment = () => SAMPLE_START + random.int(0, days - 1) * DAY_MS + random.int(5 * 3600, 15 * 3600) * 1000;
  return Array.from({ length: count }, moment).sort((a, b) => a - b);
}

/** Returns an id such as `ord-2025-00042`: the year, and a number that continues through all years. */
const formatId = (prefix: string, created_at: number, index: number, digits: number) =>
  `${prefix}-${new Date(created_at).getUTCFullYear()}-${String(index + 1).padStart(digits, '0')}`;

/** Picks a status. Most orders of the last eight weeks are in progress, and so is about one older order in ten. */
function pickOrderStatus(created_at: number, random: Random): string {
  const isRecent = created_at >= SAMPLE_END - 56 * DAY_MS;
  const isOpen = random.next() < (isRecent ? 0.9 : 0.1);
  if (isOpen) return random.pick(['WAITING', 'LINKING', 'DELIVERING']);
  return random.next() < 0.85 ? 'DELIVERED' : 'CANCELLED';
}

function createOrders(random: Random): Record<string, Record<string, unknown>> {
  const order = (created_at: number, index: number) => {
    const [team_id, markets] = random.pick(teamMarkets);
    const status = pickOrderStatus(created_at, random);
    const isInvoiced = status === 'DELIVERING' || status === 'DELIVERED';
    const data = {
      team_id,
      market_id: random.pick(markets),
      customer_data: createCustomer(random),
      status,
      created_at,
      invoice_id: isInvoiced ? formatId('inv', created_at, index, 5) : null,
    };
    return [formatId('ord', created_at, index, 5), data] as const;
  };
  return Object.fromEntries(createTimes(ORDERS, random).map(order));
}

/** All malformed orders and supply orders belong to this team, so requests for any other team return only valid ones. */
const malformedTeam: keyof typeof malformedTeams = 'team-legacy-7';

/** All malformed orders have one date, so that a single request shows them. */
const malformedOrder = { team_id: malformedTeam, status: 'DELIVERED', created_at: Date.UTC(2026, 6, 1, 9) };

const malformedOrders = {
  'ord-legacy-missing': { ...malformedOrder },
  'ord-legacy-empty': {
    ...malformedOrder,
    market_id: '',
    invoice_id: '',
    customer_data: { customer_id: '', customer_name: '' },
  },
  'ord-legacy-types': { ...malformedOrder, market_id: 404, invoice_id: ['inv'], customer_data: 'Acacia Builders Ltd' },
  'ord-legacy-customer': {
    ...malformedOrder,
    market_id: 'mkt-ken',
    invoice_id: 'inv-2026-90001',
    customer_data: { customer_id: 'cus-100', customer_name: null },
  },
};

function createSupplyOrders(random: Random): Record<string, Record<string, unknown>> {
  const supplyOrder = (created_at: number, index: number) => {
    const id = formatId('sup', created_at, index, 4);
    const invoice = (_: unknown, i: number) => {
      const name = `${id}-invoice-${i + 1}.pdf`;
      return { name, url: `https://documents.example.com/supply-orders/${id}/${name}` };
    };
    const data = {
      team_id: random.pick(teamMarkets)[0],
      status: random.int(0, 1),
      created_at,
      invoices: Array.from({ length: random.int(0, 3) }, invoice),
    };
    return [id, data] as const;
  };
  return Object.fromEntries(createTimes(SUPPLY_ORDERS, random).map(supplyOrder));
}

const malformedSupplyOrder = { team_id: malformedTeam, status: 1, created_at: Date.UTC(2026, 6, 1, 9) };

const malformedSupplyOrders = {
  'sup-legacy-missing': { ...malformedSupplyOrder },
  'sup-legacy-type': { ...malformedSupplyOrder, invoices: 'sup-2026-0050-invoice-1.pdf' },
  'sup-legacy-entries': {
    ...malformedSupplyOrder,
    invoices: [
      null,
      'invoice.pdf',
      { name: 'no-address.pdf' },
      { name: '', url: 'https://documents.example.com/no-name.pdf' },
      { name: 'whole.pdf', url: 'https://documents.example.com/whole.pdf' },
    ],
  },
};
