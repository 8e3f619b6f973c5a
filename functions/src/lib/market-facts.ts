/** The facts about the market of a price list: whether it exists, and whether its currency differs from the request's. */

/** Returns the facts that the log and the request record show (docs/operations.md#log-entries). */
export const getMarketFacts = ({ lists }: { lists: { currency_differs: boolean } | null }) => ({
  market_found: lists !== null,
  currency_differs: lists?.currency_differs ?? false,
});

export type MarketFacts = ReturnType<typeof getMarketFacts>;

/** What a completion led to, as the metric labels it: lists, no lists, or lists in a currency other than the request's. */
export const OUTCOMES = ['created', 'no_market', 'other_currency'] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** One value for both facts, because the label of a metric can read only one field. */
export function getOutcome({ market_found, currency_differs }: MarketFacts): Outcome {
  if (!market_found) return 'no_market';
  return currency_differs ? 'other_currency' : 'created';
}
