import type { operations as Api } from './api.js';

/** Finds what a 200 of add price lists hides: no lists were created, or the lists have another currency. */

export type AddPriceListsBody = Api['addPriceLists']['requestBody']['content']['application/json'];
export type AddPriceListsResponse = Api['addPriceLists']['responses'][200]['content']['application/json'];

/** The response of add price lists for a market that exists. Both lists are ready. */
export type CreatedPriceLists = {
  [Key in keyof AddPriceListsResponse]: NonNullable<AddPriceListsResponse[Key]>;
};

/** No market has the `market_id`. The service stored the request and created no list. */
export class MarketNotFoundError extends Error {
  override readonly name = 'MarketNotFoundError';

  /** @param response the response to every later request with this `boq_list_id` */
  constructor(
    readonly marketId: string,
    readonly response: AddPriceListsResponse,
  ) {
    super(
      `no list was created, because no market has the market_id ${JSON.stringify(marketId)}; ` +
        'send a market_id of getMarkets with a new boq_list_id',
    );
  }
}

/** The lists are ready, in the currency of their market. The prices were not converted. */
export class OtherCurrencyError extends Error {
  override readonly name = 'OtherCurrencyError';

  /**
   * @param sent `currency_iso` of the request, in upper case
   * @param stored `currency` of both lists
   */
  constructor(
    readonly sent: string,
    readonly stored: string,
    readonly response: CreatedPriceLists,
  ) {
    super(`the lists were created, but the prices are stored as ${stored}, the currency of the market, not as ${sent}`);
  }
}

export interface CurrencyOptions {
  /** Whether to resolve if the lists have another currency than the request. Default: false. */
  acceptOtherCurrency?: boolean | undefined;
}

/**
 * @returns the response, if both lists were created in the currency of the request
 * @throws MarketNotFoundError
 * @throws OtherCurrencyError
 */
export function requireLists(
  { info }: AddPriceListsBody,
  response: AddPriceListsResponse,
  { acceptOtherCurrency = false }: CurrencyOptions,
): CreatedPriceLists {
  if (!isCreated(response)) throw new MarketNotFoundError(info.market_id, response);
  const sent = info.currency_iso.toUpperCase();
  const { currency } = response.price_list;
  if (currency !== sent && !acceptOtherCurrency) throw new OtherCurrencyError(sent, currency, response);
  return response;
}

const isCreated = (response: AddPriceListsResponse): response is CreatedPriceLists => response.price_list !== null;
