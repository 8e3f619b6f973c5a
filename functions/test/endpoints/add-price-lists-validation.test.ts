import fc from 'fast-check';
import { addPriceLists } from '../../src/add-price-lists';
import { validateProductId } from '../../src/lib/schemas/add-price-lists';
import { operations } from '../support/operations';
import { useTestService } from '../support/service';
import { arbitraryPriceListBody } from '../support/arbitrary-submissions';
import { toProductEntries, parseSubmission } from '../support/submissions';
import {
  textsAtLimit,
  loneSurrogates,
  withLabels,
  invalidTexts,
  expectValidationErrorPaths,
  textsOverLimit,
} from '../support/validation';
import { anyCharacter } from '../support/arbitrary-text';

const service = useTestService({ addPriceLists });
beforeEach(() => service.reset());

const { body } = operations.addPriceLists;
const PRICES = { price_list_price: 1, expected_forward_cost_price: 1 };

const send = (json: unknown) => service.call('addPriceLists', { json });
const paths = async (json: unknown) => expectValidationErrorPaths(await send(json));
const withInfo = (info: object) => ({ ...body, info: { ...body.info, ...info } });

/** The paths for one product, written as JSON so that an id may be `__proto__` and a price 1e400. */
const pathsOfProduct = async (id: string, prices = JSON.stringify(PRICES)) =>
  expectValidationErrorPaths(
    await service.call('addPriceLists', {
      body: `{"info":${JSON.stringify(body.info)},"products":{${JSON.stringify(id)}:${prices}}}`,
    }),
  );

describe('info', () => {
  test.each([undefined, null, 'text', 1, [], ['a']])('%j is rejected at its own path', async (info) => {
    expect(await paths({ ...body, info })).toEqual(['info']);
  });

  test('every missing field is named', async () => {
    const fields = ['market_id', 'boq_list_id', 'currency_iso', 'date', 'name'];
    expect(await paths({ ...body, info: {} })).toEqual(fields.map((field) => `info.${field}`));
  });

  describe.each(['market_id', 'boq_list_id', 'name'])('%s', (field) => {
    test.each(withLabels([...invalidTexts, ...loneSurrogates, ...textsOverLimit]))('rejects %s', async (_, value) => {
      expect(await paths(withInfo({ [field]: value }))).toEqual([`info.${field}`]);
    });
    test.each(withLabels([...textsAtLimit, ' ', '\u0000', '𝄞']))('accepts %s', async (_, value) => {
      expect((await send(withInfo({ [field]: value }))).status).toBe(200);
    });
  });

  describe('currency_iso', () => {
    test.each([...invalidTexts, 'us', 'usdd', 'us1', ' usd', 'usd ', 'usd\n', 'ÜSD', 'ｕｓｄ', 'ﬁn', '\ud800'])(
      'rejects %j',
      async (value) => {
        expect(await paths(withInfo({ currency_iso: value }))).toEqual(['info.currency_iso']);
      },
    );
  });

  describe('date', () => {
    const notMonths = [
      '00/2026',
      '13/2026',
      '6/2026',
      '006/2026',
      '06/26',
      '06/20260',
      '06-2026',
      '2026/06',
      '01/06/2026',
      ' 06/2026',
      '06/2026\n',
      '０６/2026',
    ];
    test.each([...invalidTexts, ...notMonths])('rejects %j', async (value) => {
      expect(await paths(withInfo({ date: value }))).toEqual(['info.date']);
    });
  });
});

describe('products', () => {
  test.each([undefined, null, 'text', 1, [], [PRICES], {}])('%j are rejected at their own path', async (products) => {
    expect(await paths({ ...body, products })).toEqual(['products']);
  });

  test.each(['null', '1', '[]', '"text"'])('a product that is %s is rejected at its own path', async (prices) => {
    expect(await pathsOfProduct('p', prices)).toEqual(['products.p']);
  });

  test('each missing price is named', async () => {
    expect(await pathsOfProduct('p', '{}')).toEqual([
      'products.p.price_list_price',
      'products.p.expected_forward_cost_price',
    ]);
  });

  describe.each(['price_list_price', 'expected_forward_cost_price'])('%s', (field) => {
    const prices = (price: string) => JSON.stringify({ ...PRICES, [field]: 'PRICE' }).replace('"PRICE"', price);
    test.each(['-1', '-0.01', '-5e-324', '1e400', '-1e400', '"1"', 'null', 'true', '[]', '[1]', '{}'])(
      'rejects %s',
      async (price) => {
        expect(await pathsOfProduct('p', prices(price))).toEqual([`products.p.${field}`]);
      },
    );
  });

  test('a dotted id is shown as it is', async () => {
    expect(await pathsOfProduct('a.b', '{}')).toContain('products.a.b.price_list_price');
  });
});

describe('a product identifier', () => {
  const whitespace = '\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';
  const invalidIds = [
    '',
    '.',
    '..',
    '/',
    'a/b',
    '____',
    '_____',
    '__product__',
    '__proto__',
    '__a\nb__',
    '__\u2028__',
    '__\n__',
    ...Array.from(whitespace, (space) => `${space}a`),
    ...Array.from(whitespace, (space) => `a${space}`),
    ' ',
    ...loneSurrogates,
    'a'.repeat(1501),
    `${'é'.repeat(750)}a`,
  ];
  test.each(withLabels(invalidIds))('%s is rejected', async (_, id) => {
    const [path, ...more] = await pathsOfProduct(id);
    expect(more).toEqual([]);
    // An id that is far too long is truncated in the response.
    if (id.length > 1500) expect(path).toMatch(/^products\.a{100}…$/);
    else expect(path).toBe(`products.${id}`);
  });

  const accepted = [
    'constructor',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__proto',
    'proto__',
    '_',
    '__',
    '___',
    '_a_',
    '__a_',
    '...',
    '.a',
    'a.b',
    'a b',
    'a\nb',
    '\u0000',
    '\u0085a',
    '\u200ba',
    'é',
    'e\u0301',
    'مادة',
    '𝄞',
    '0',
    '-1',
    '1e3',
    'a'.repeat(1500),
    'é'.repeat(750),
  ];

  test('of any other kind is stored as it is', async () => {
    await service.db.doc('markets/market-1').set({ name: { en: 'M' } });
    const products = Object.fromEntries(
      accepted.map((id, i) => [id, { price_list_price: i, expected_forward_cost_price: i + 0.5 }]),
    );
    const { status, json } = await send({ ...body, products });
    expect([status, json]).toMatchObject([200, { products_count: accepted.length }]);
    const { price_list } = json as { price_list: { id: string } };
    const entries = await service.db.collection(`price_lists/${price_list.id}/products`).get();
    const stored = Object.fromEntries(entries.docs.map((entry) => [entry.id, entry.get('price_list_price') as number]));
    expect(stored).toEqual(Object.fromEntries(accepted.map((id, i) => [id, i])));
  });

  const unit = fc.oneof(
    fc.constantFrom('_', '_', '.', '/', ' ', '\n', 'a', '\u00a0', '\ufeff', '\u200b', '\ud800', '\udc00', '𝄞'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
  );
  const anyId = fc.oneof(
    fc.string({ unit, maxLength: 8 }),
    fc
      .tuple(fc.constantFrom('a', 'é', '𝄞'), fc.integer({ min: 370, max: 1510 }))
      .map(([each, count]) => each.repeat(count)),
    fc.string({ unit, maxLength: 4 }).map((middle) => `__${middle}__`),
  );

  /** The contract's rule and Firestore's limits, written a second time, code point by code point. */
  function allowed(id: string): boolean {
    const points = Array.from(id, (point) => point.codePointAt(0) ?? 0);
    const space = (point: number | undefined) => point !== undefined && /^\s$/.test(String.fromCodePoint(point));
    const bytes = points.reduce(
      (sum, point) => sum + (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4),
      0,
    );
    const underscores = (from: number) => points.at(from) === 0x5f && points.at(from + 1) === 0x5f;
    return (
      points.length > 0 &&
      bytes <= 1500 &&
      !space(points[0]) &&
      !space(points.at(-1)) &&
      points.every((point) => point !== 0x2f && !(point >= 0xd800 && point <= 0xdfff)) &&
      !(points.length <= 2 && points.every((point) => point === 0x2e)) &&
      !(points.length >= 4 && underscores(0) && underscores(-2))
    );
  }

  test('is valid exactly if the rule allows it', () =>
    fc.assert(
      fc.property(anyId, (id) => expect(validateProductId(id) === undefined).toBe(allowed(id))),
      { numRuns: 5000 },
    ));

  test('that is accepted is one that Firestore stores, and gives back', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(
          anyId.filter((id) => validateProductId(id) === undefined),
          { maxLength: 50 },
        ),
        async (ids) => {
          service.firestore.clear();
          const batch = service.db.batch();
          for (const id of ids) batch.set(service.db.collection('ids').doc(id), {});
          await batch.commit();
          const stored = (await service.db.collection('ids').get()).docs.map(({ id }) => id);
          expect(stored.sort()).toEqual([...ids].sort());
        },
      ),
      { numRuns: 20 },
    ));
});

describe('a hundred errors', () => {
  const badProducts = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`p${i}`, { price_list_price: -1, expected_forward_cost_price: -1 }]),
    );

  test('are the maximum in a response, and the message says that there may be more', async () => {
    const response = await send({ info: {}, products: badProducts(100_000) });
    const found = expectValidationErrorPaths(response);
    expect(found).toHaveLength(100);
    const products = found.filter((path) => path.startsWith('products.'));
    expect(found).toEqual([...found.filter((path) => path.startsWith('info.')), ...products]);
    expect(found.length).toBeGreaterThan(products.length);
    expect((response.json as { message: string }).message).toMatch(/may be more/);
  });

  test('and fewer are all returned, and the message does not mention more', async () => {
    const response = await send({ ...body, products: badProducts(49) });
    expect(expectValidationErrorPaths(response)).toHaveLength(98);
    expect((response.json as { message: string }).message).toBe('Payload is invalid');
  });

  test('of products stand in the order in which they were sent', async () => {
    const products = '{"b":1,"a":1,"7":1}';
    const response = await service.call('addPriceLists', {
      body: `{"products":${products},"info":${JSON.stringify(body.info)}}`,
    });
    expect(expectValidationErrorPaths(response)).toEqual(['products.b', 'products.a', 'products.7']);
  });
});

test('every valid body is accepted as canonical JSON', () =>
  fc.assert(
    fc.property(arbitraryPriceListBody, ({ info, products }) => {
      const parsed = parseSubmission({ info, products });
      expect(parsed.info).toEqual({ ...info, currency_iso: info.currency_iso.toUpperCase() });
      expect(Object.fromEntries(toProductEntries(parsed.products))).toEqual(products);
      expect(parsed.products.ids).toEqual(Object.keys(products).sort());
    }),
  ));
