import type { BenchMetric } from './metrics';

/** A Markdown table: medians, ranges, targets. */
export function renderTable(metrics: readonly BenchMetric[]): string {
  const head = ['Scenario', 'Metric', 'Value', 'Range', 'Target', 'Met'];
  const rows = metrics.map(({ scenario, metric, value, unit, spread, target }, i) => [
    metrics[i - 1]?.scenario === scenario ? '' : scenario,
    metric,
    `${formatNumber(value)}${unit === '' ? '' : ` ${unit}`}`,
    spread === undefined ? '' : `${formatNumber(spread.min)} to ${formatNumber(spread.max)}`,
    target?.text ?? '',
    target === undefined ? '' : target.passed ? 'yes' : 'NO',
  ]);
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0), title.length),
  );
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** Three significant digits, with thousands separators. */
const formatNumber = (value: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0 });
