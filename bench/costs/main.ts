import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { describeMachine } from '../machine';
import { countCalls } from './count';
import type { PriceTable } from './model';
import { renderCosts } from './report';

/** `npm run costs`: counts what calls use and writes docs/costs.md. */

const PAGE = 'docs/costs.md';

async function main(): Promise<void> {
  const prices = JSON.parse(readFileSync('bench/costs/prices.json', 'utf8')) as PriceTable;
  const calls = await countCalls([1_000, 10_000, 100_000], [10, 1_000, 10_000]);
  const page = renderCosts(calls, prices, describeMachine());
  writeFileSync(PAGE, await format(page, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
