import { ValidationError } from '../../src/lib/errors';
import { createPriceListParser, type PriceListSubmission } from '../../src/lib/schemas/add-price-lists';
import { computeFingerprint } from '../../src/price-lists/payload';

/** Milliseconds that judging took, each the median of interleaved runs. */
export interface JudgingTimes {
  /** `JSON.parse` of the body, alone. */
  parse: number;
  /** Parsing, validating and fingerprinting of a body whose products are all good. */
  allGood: number;
  /** Parsing and refusing of a body whose products are all bad. */
  allBad: number;
}

/** Times the judging of a price list's body beside its parsing, for `npm run bench`. */
export function timeJudging(products: number, runs: number): JudgingTimes {
  const good = bodyOf(products, 12.25);
  const bad = bodyOf(products, -1);
  const times = { parse: [] as number[], allGood: [] as number[], allBad: [] as number[] };
  for (let run = 0; run < runs; run += 1) {
    times.parse.push(timed(() => JSON.parse(good) as unknown));
    times.allGood.push(timed(() => computeFingerprint(read(good))));
    times.allBad.push(timed(() => refusalOf(bad)));
  }
  return { parse: median(times.parse), allGood: median(times.allGood), allBad: median(times.allBad) };
}

function bodyOf(count: number, price: number): string {
  const info = { market_id: 'market-1', boq_list_id: 'boq-1', currency_iso: 'usd', date: '06/2026', name: 'June' };
  const products = Array.from({ length: count }, (_, i) => [
    `product-${String((i * 7919) % count).padStart(6, '0')}`,
    { price_list_price: price < 0 ? price : i + price, expected_forward_cost_price: price < 0 ? price : i / 8 },
  ]);
  return JSON.stringify({ info, products: Object.fromEntries(products) as object });
}

/** Characters of a body that arrive at a time. */
const PIECE = 64 * 1024;

function read(body: string): PriceListSubmission {
  const reader = createPriceListParser();
  for (let start = 0; start < body.length; start += PIECE) reader.write(body.slice(start, start + PIECE));
  return reader.end();
}

function refusalOf(body: string): ValidationError {
  try {
    read(body);
  } catch (error) {
    if (error instanceof ValidationError) return error;
    throw error;
  }
  throw new Error('a bad body was accepted');
}

function timed(work: () => unknown): number {
  const started_at = performance.now();
  work();
  return performance.now() - started_at;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
