import { scanBody } from '../../functions/src/lib/http/request-body';
import {
  getPrices,
  parsePriceLists,
  priceListsShape,
  type PriceListInfo,
  type PriceListSubmission,
  type ProductPrices,
} from '../../functions/src/lib/schemas/add-price-lists';

export interface PriceListBody {
  info: PriceListInfo;
  products: Record<string, ProductPrices>;
}

/** Parses a body as the service does. @throws ValidationError, PayloadTooLargeError */
export const parseSubmission = (body: unknown): PriceListSubmission => parseSubmissionText(JSON.stringify(body));

/** Parses the text of a body as the service does. @throws ValidationError, PayloadTooLargeError */
export const parseSubmissionText = (json: string): PriceListSubmission =>
  parsePriceLists(scanBody(Buffer.from(json), priceListsShape));

/** Returns the products of a submission as pairs of id and prices, in code-unit order of the ids. */
export const toPricesById = ({ products }: Pick<PriceListSubmission, 'products'>): [id: string, ProductPrices][] =>
  products.ids.map((id) => [id, getPrices(products, id)]);

/** Creates a body of `count` products with distinct ids and prices. */
export function createPriceListBody(count: number, info: Partial<PriceListBody['info']> = {}): PriceListBody {
  const products = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `product-${i}`,
      { price_list_price: i + 0.25, expected_forward_cost_price: i },
    ]),
  );
  // Has every field, even if a later one is optional, so that tests of the audit send all of them through a creation.
  const all: Required<PriceListInfo> = {
    market_id: 'market-1',
    boq_list_id: 'boq-1',
    currency_iso: 'usd',
    date: '06/2026',
    name: 'June',
  };
  return { info: { ...all, ...info }, products };
}
