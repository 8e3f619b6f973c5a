import { renderCapacityTable } from '../capacity/capacity';
import { PERFORMANCE_PAGE, updatePerformancePage } from '../tables';
import { renderCosts } from './costs';

/** Writes the tables of costs and scale. With `--check` it only fails if they are out of date. */
async function main(isCheck: boolean): Promise<void> {
  const sections = { ...renderCosts(), creations: renderCapacityTable() };
  const isOutOfDate = await updatePerformancePage(sections, isCheck);
  if (!isOutOfDate || !isCheck) return;
  console.error(`The tables of ${PERFORMANCE_PAGE} are out of date: npm run generate`);
  process.exitCode = 1;
}

void main(process.argv.includes('--check'));
