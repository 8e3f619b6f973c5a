import { renderCapacityTable } from '../capacity/capacity';
import { updatePage } from '../documents';
import { renderCosts } from './costs';

const PAGE = 'docs/performance.md';

/** Writes the tables of costs and scale into docs/performance.md. With `--check` it only fails if they are out of date. */
async function main(isCheck: boolean): Promise<void> {
  const isOutOfDate = await updatePage(PAGE, { ...renderCosts(), creations: renderCapacityTable() }, isCheck);
  if (!isOutOfDate || !isCheck) return;
  console.error(`The tables of ${PAGE} are out of date: npm run generate`);
  process.exitCode = 1;
}

void main(process.argv.includes('--check'));
