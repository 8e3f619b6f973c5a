import { readFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';

/** The tables of the bench, in a terminal and in docs/performance.md. */

export const PERFORMANCE_PAGE = 'docs/performance.md';

/** Renders a Markdown table. @param textColumns how many columns hold text; the others hold numbers */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  textColumns: number,
): string {
  const cells = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => {
    const padded = row.map((cell, i) => {
      const width = widths[i] ?? 0;
      return i < textColumns ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, i) => '-'.repeat(width - 1) + (i < textColumns ? '-' : ':'));
  const [first = [], ...others] = cells;
  return [line(first), line(rule), ...others.map(line)].join('\n');
}

/** Renders the page with new texts between its `<!-- name -->` and `<!-- /name -->`. @throws when a section is missing */
export async function renderPerformancePage(sections: Readonly<Record<string, string>>): Promise<string> {
  let page = readFileSync(PERFORMANCE_PAGE, 'utf8');
  for (const [name, content] of Object.entries(sections)) {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [start, end] = [page.indexOf(open), page.indexOf(close)];
    if (start === -1 || end < start) throw new Error(`The page has no section ${open}`);
    page = `${page.slice(0, start + open.length)}\n\n${content}\n\n${page.slice(end)}`;
  }
  const config = await resolveConfig(PERFORMANCE_PAGE);
  return format(page, { ...config, parser: 'markdown' });
}
