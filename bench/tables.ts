import { readFileSync, writeFileSync } from 'node:fs';

/** The tables of the bench, in a terminal and in docs/performance.md. */

export const PERFORMANCE_PAGE = 'docs/performance.md';

/** A Markdown table. @param textColumns how many columns hold text; the others hold numbers */
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

/**
 * Puts texts between `<!-- name -->` and `<!-- /name -->` of docs/performance.md.
 *
 * @returns whether the page was out of date
 * @throws when a section is missing
 */
export async function updatePerformancePage(
  sections: Readonly<Record<string, string>>,
  isDryRun = false,
): Promise<boolean> {
  // Loaded here: a test of a table needs no formatter.
  const { format, resolveConfig } = await import('prettier');
  const before = readFileSync(PERFORMANCE_PAGE, 'utf8');
  let page = before;
  for (const [name, content] of Object.entries(sections)) {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [start, end] = [page.indexOf(open), page.indexOf(close)];
    if (start === -1 || end < start) throw new Error(`The page has no section ${open}`);
    page = `${page.slice(0, start + open.length)}\n\n${content}\n\n${page.slice(end)}`;
  }
  const config = await resolveConfig(PERFORMANCE_PAGE);
  const after = await format(page, { ...config, parser: 'markdown' });
  if (!isDryRun) writeFileSync(PERFORMANCE_PAGE, after);
  return after !== before;
}
