import { readFileSync, writeFileSync } from 'node:fs';
import type { BenchMetric } from './metrics';
import { renderTable } from './report';

/** The tables of pages that a program writes. */

/** The rows of the summary of docs/performance.md. */
const SUMMARY: readonly (readonly [scenario: string, metric: string])[] = [
  ['cold start of getMarkets', '÷ bare function, node_modules'],
  ['cold start of addPriceLists', '÷ bare function, node_modules'],
  ['small reads (50 markets)', 'requests a second ÷ SDK baseline'],
  ['100,000 orders', 'time ÷ SDK baseline'],
  ['100,000 orders', 'processor time ÷ bytes alone'],
  ['300,000 orders', 'peak memory above idle'],
  ['add 1,000 products', 'time ÷ SDK baseline'],
  ['add 100,000 products', 'time ÷ SDK baseline'],
  ['add 100,000 products', 'peak memory above idle ÷ body'],
  ['4 lists of 32 MB at once', 'peak memory ÷ that of the function'],
];

/** `npm run bench -- --docs`: writes the summary of docs/performance.md. */
export async function updateDocuments(metrics: readonly BenchMetric[], machine: string): Promise<void> {
  const summary = SUMMARY.flatMap(([scenario, metric]) =>
    metrics.filter((each) => each.scenario === scenario && each.metric === metric),
  );
  await updatePage('docs/performance.md', { summary: `Machine: ${machine}.\n\n${renderTable(summary)}` });
}

type Sections = Readonly<Record<string, string>>;

/** Writes sections of a page. @returns whether the page was out of date */
export async function updatePage(file: string, sections: Sections, isDryRun = false): Promise<boolean> {
  // Loaded here: a test of this file needs no formatter.
  const { format, resolveConfig } = await import('prettier');
  const before = readFileSync(file, 'utf8');
  const page = replaceSections(before, sections);
  const after = await format(page, { ...(await resolveConfig(file)), parser: 'markdown' });
  if (!isDryRun) writeFileSync(file, after);
  return after !== before;
}

/** Replaces what stands between `<!-- name -->` and `<!-- /name -->`. @throws when a section is missing */
export function replaceSections(page: string, sections: Sections): string {
  return Object.entries(sections).reduce((text, [name, content]) => {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [start, end] = [text.indexOf(open), text.indexOf(close)];
    if (start === -1 || end < start) throw new Error(`The page has no section ${open}`);
    return `${text.slice(0, start + open.length)}\n\n${content}\n\n${text.slice(end)}`;
  }, page);
}
