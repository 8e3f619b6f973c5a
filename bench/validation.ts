import { ValidationError } from '../functions/src/lib/errors';
import { createPriceListParser, type PriceListSubmission } from '../functions/src/price-lists/submission-parser';
import { computeFingerprint } from '../functions/src/price-lists/payload';

/** Times in ms, each the median of interleaved runs. */
export interface ValidationTimes {
  /** `JSON.parse` of the body. */
  parse: number;
  /** Parses, validates and fingerprints a body with valid products. */
  allValid: number;
  /** Parses and rejects a body with invalid products. */
  allInvalid: number;
}

export function measureValidation(products: number, runs: number): ValidationTimes {
  const valid = createBody(products, 12.25);
  const invalid = createBody(products, -1);
  const times = { parse: [] as number[], allValid: [] as number[], allInvalid: [] as number[] };
  for (let run = 0; run < runs; run += 1) {
    times.parse.push(timed(() => JSON.parse(valid) as unknown));
    times.allValid.push(timed(() => computeFingerprint(parse(valid))));
    times.allInvalid.push(timed(() => reject(invalid)));
  }
  return { parse: median(times.parse), allValid: median(times.allValid), allInvalid: median(times.allInvalid) };
}

function createBody(count: number, price: number): string {
  const info = { market_id: 'market-1', boq_list_id: 'boq-1', currency_iso: 'usd', date: '06/2026', name: 'June' };
  const products = Array.from({ length: count }, (_, i) => [
    `product-${String((i * 7919) % count).padStart(6, '0')}`,
    { price_list_price: price < 0 ? price : i + price, expected_forward_cost_price: price < 0 ? price : i / 8 },
  ]);
  return JSON.stringify({ info, products: Object.fromEntries(products) as object });
}

const CHUNK_LENGTH = 64 * 1024;

function parse(body: string): PriceListSubmission {
  const parser = createPriceListParser();
  for (let start = 0; start < body.length; start += CHUNK_LENGTH) parser.write(body.slice(start, start + CHUNK_LENGTH));
  return parser.end();
}

function reject(body: string): ValidationError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof ValidationError) return error;
    throw error;
  }
  throw new Error('an invalid body was accepted');
}

function timed(fn: () => unknown): number {
  const startedAt = performance.now();
  fn();
  return performance.now() - startedAt;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
