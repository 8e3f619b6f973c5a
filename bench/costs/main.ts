import { renderCapacityTable } from '../capacity/capacity';
import { updatePage } from '../documents';
import { renderCosts } from './costs';

/** `npm run costs`: writes the tables of docs/costs.md and docs/scale.md. With `--check` it only fails if they are out of date. */
async function main(isCheck: boolean): Promise<void> {
  const pages = { 'docs/costs.md': renderCosts(), 'docs/scale.md': { creations: renderCapacityTable() } };
  for (const [file, sections] of Object.entries(pages)) {
    if (!(await updatePage(file, sections, isCheck)) || !isCheck) continue;
    console.error(`The tables of ${file} are out of date: npm run costs`);
    process.exitCode = 1;
  }
}

void main(process.argv.includes('--check'));
