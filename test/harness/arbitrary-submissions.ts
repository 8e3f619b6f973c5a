import fc from 'fast-check';
import { infoSchema, type PriceListInfo } from '../../functions/src/lib/schemas/add-price-lists';
import type { PriceListBody } from './submissions';
import { anyCharacter } from './arbitrary-text';

const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 });
const price = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true });

const productId = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 6 }).filter((id) => isPlainId(id));

function isPlainId(id: string): boolean {
  return id === id.trim() && !id.includes('/') && id !== '.' && id !== '..' && !/^__.*__$/s.test(id);
}

const fields: { [Field in keyof PriceListInfo]-?: fc.Arbitrary<Required<PriceListInfo>[Field]> } = {
  market_id: text,
  boq_list_id: text,
  currency_iso: fc.stringMatching(/^[A-Za-z]{3}$/),
  date: fc.stringMatching(/^(0[1-9]|1[0-2])\/[0-9]{4}$/),
  name: text,
};

const fieldNames = Object.keys(fields) as (keyof PriceListInfo)[];
/** Required fields. fast-check sometimes omits the others. */
const requiredKeys = fieldNames.filter((name) => !infoSchema.shape[name].safeParse(undefined).success);

/** Generates valid bodies of one to eight products. */
export const arbitraryPriceListBody: fc.Arbitrary<PriceListBody> = fc.record({
  info: fc.record(fields, { requiredKeys }),
  products: fc.dictionary(productId, fc.record({ price_list_price: price, expected_forward_cost_price: price }), {
    minKeys: 1,
    maxKeys: 8,
    noNullPrototype: true,
  }),
});
