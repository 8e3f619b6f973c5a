import { createRandom } from './random';

/** A body of add price lists. */
export interface PriceListBody {
  info: { market_id: string; boq_list_id: string; currency_iso: string; date: string; name: string };
  products: Record<string, { price_list_price: number; expected_forward_cost_price: number }>;
}

/** A family of products: one for each combination of its traits, at a cost in Kenyan shillings from `min` to `max`. */
interface Family {
  code: string;
  traits: readonly (readonly string[])[];
  cost: readonly [min: number, max: number];
}

const families: readonly Family[] = [
  {
    code: 'CEM',
    traits: [
      ['OPC', 'PPC', 'SRC', 'WHT'],
      ['32R', '42N', '52N'],
      ['25KG', '50KG'],
    ],
    cost: [380, 1_900],
  },
  {
    code: 'RBR',
    traits: [
      ['Y08', 'Y10', 'Y12', 'Y16', 'Y20', 'Y25', 'Y32', 'Y40'],
      ['B460', 'B500'],
      ['6M', '9M', '12M'],
    ],
    cost: [420, 14_500],
  },
  {
    code: 'PIP',
    traits: [
      ['PVC', 'PPR', 'HDPE', 'GI'],
      ['020', '025', '032', '040', '050', '063', '075', '090', '110', '160', '200'],
      ['PN06', 'PN10', 'PN16'],
    ],
    cost: [180, 9_800],
  },
  {
    code: 'FIT',
    traits: [
      ['ELB45', 'ELB90', 'TEE', 'RED', 'CAP', 'CPL', 'UNI', 'VLV'],
      ['PVC', 'PPR', 'GI'],
      ['020', '025', '032', '040', '050', '063', '075', '090', '110'],
    ],
    cost: [25, 2_400],
  },
  {
    code: 'CAB',
    traits: [
      ['CU', 'AL'],
      ['1C', '2C', '3C', '4C', '5C'],
      ['1.5', '2.5', '4', '6', '10', '16', '25', '35', '50', '70'],
    ],
    cost: [45, 3_900],
  },
  {
    code: 'BLT',
    traits: [
      ['HEX', 'CAR', 'ANC', 'CSK'],
      ['M06', 'M08', 'M10', 'M12', 'M16', 'M20'],
      ['040', '060', '080', '100', '120', '160'],
      ['ZP', 'HDG', 'A2'],
    ],
    cost: [6, 480],
  },
  {
    code: 'TIL',
    traits: [
      ['FLR', 'WAL'],
      ['300X300', '300X600', '600X600', '800X800'],
      ['WHT', 'BGE', 'GRY', 'BLK', 'TRV'],
    ],
    cost: [650, 3_200],
  },
  {
    code: 'PNT',
    traits: [
      ['EMU', 'GLS', 'SLK', 'PRM', 'ROF'],
      ['WHT', 'CRM', 'GRY', 'GRN', 'RED', 'BLU', 'BRN'],
      ['01L', '04L', '20L'],
    ],
    cost: [390, 11_500],
  },
  {
    code: 'TIM',
    traits: [
      ['PINE', 'CYP', 'MHG'],
      ['050X050', '050X075', '050X100', '050X150', '075X100', '100X100'],
      ['3M', '4M', '6M'],
    ],
    cost: [160, 5_400],
  },
  {
    code: 'SHT',
    traits: [
      ['GCI', 'PPGI', 'ALZ'],
      ['G26', 'G28', 'G30', 'G32'],
      ['2M', '2.5M', '3M'],
      ['NAT', 'RED', 'GRN', 'BLU'],
    ],
    cost: [520, 3_100],
  },
  {
    code: 'BLK',
    traits: [
      ['SOL', 'HOL', 'PAV'],
      ['100', '150', '200', '225'],
      ['3.5N', '7N', '10N'],
    ],
    cost: [32, 145],
  },
];

/** A price list of so many products for the sample data's market in Kenya, the same for the same seed. */
export function createSamplePriceList(seed: number, count: number): PriceListBody {
  const random = createRandom(seed);
  const catalogue = families.flatMap(createProducts);
  if (count > catalogue.length) throw new RangeError(`the catalogue has ${catalogue.length} products, not ${count}`);

  // Each product has the same chance, and they stay in the order of the catalogue.
  let wanted = count;
  const chosen = catalogue.filter((_, i) => random.next() * (catalogue.length - i) < wanted && wanted-- > 0);
  const products = chosen.map(({ sku, cost }) => {
    const forward = roundToCents(cost * (0.9 + random.next() * 0.2));
    return [
      sku,
      {
        price_list_price: roundToCents(forward * (1.12 + random.next() * 0.23)),
        expected_forward_cost_price: forward,
      },
    ];
  });
  return {
    info: {
      market_id: 'mkt-ken',
      boq_list_id: 'BOQ-KEN-2026-06',
      currency_iso: 'KES',
      date: '06/2026',
      name: 'Kenya building materials, June 2026',
    },
    products: Object.fromEntries(products) as PriceListBody['products'],
  };
}

interface Product {
  /** Such as `RBR-Y12-B500-12M`. */
  sku: string;
  cost: number;
}

/** Every combination of a family's traits; the later a trait's value stands, the more it costs. */
function createProducts({ code, traits, cost: [min, max] }: Family): Product[] {
  const step = (max - min) / traits.reduce((steps, trait) => steps + trait.length - 1, 0);
  const extend = (products: Product[], trait: readonly string[]) =>
    products.flatMap(({ sku, cost }) => trait.map((value, i) => ({ sku: `${sku}-${value}`, cost: cost + i * step })));
  return traits.reduce(extend, [{ sku: code, cost: min }]);
}

const roundToCents = (price: number) => Math.round(price * 100) / 100;

/** The text of a body, one product a line. */
export function formatPriceList({ info, products }: PriceListBody): string {
  const fields = Object.entries(info).map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const entries = Object.entries(products).map(
    ([sku, { price_list_price, expected_forward_cost_price }]) =>
      `    "${sku}": { "price_list_price": ${price_list_price}, "expected_forward_cost_price": ${expected_forward_cost_price} }`,
  );
  return `{\n  "info": {\n${fields.join(',\n')}\n  },\n  "products": {\n${entries.join(',\n')}\n  }\n}\n`;
}
