import type { Stats } from './measure';

export interface BenchMetric {
  scenario: string;
  metric: string;
  unit: string;
  /** One value, or the median or the maximum of several. */
  value: number;
  spread: Stats | undefined;
  /** The target; undefined if the value has none. */
  bound: Bound | undefined;
}

export interface Bound {
  text: string;
  holds: (value: number) => boolean;
  /** Whether a missed target fails the run: true for calls and memory, which other load does not change. */
  isEnforced: boolean;
}

export const atMost = (bound: number): Bound => ({
  text: `≤ ${bound}`,
  holds: (value) => value <= bound,
  isEnforced: false,
});

export const atLeast = (bound: number): Bound => ({
  text: `≥ ${bound}`,
  holds: (value) => value >= bound,
  isEnforced: false,
});

export const exactly = (bound: number): Bound => ({
  text: `= ${bound}`,
  holds: (value) => value === bound,
  isEnforced: true,
});

export const enforced = (bound: Bound): Bound => ({ ...bound, isEnforced: true });

const HEAD = ['Scenario', 'Metric', 'Value', 'Range', 'Target'];

/** Renders a Markdown table of values, ranges and targets. */
export function renderMetrics(metrics: readonly BenchMetric[]): string {
  const rows = metrics.map(({ scenario, metric, value, unit, spread, bound }, i) => [
    metrics[i - 1]?.scenario === scenario ? '' : scenario,
    metric,
    `${formatNumber(value)}${unit === '' ? '' : ` ${unit}`}`,
    spread === undefined ? '' : `${formatNumber(spread.min)} to ${formatNumber(spread.max)}`,
    bound === undefined ? '' : bound.text + (bound.holds(value) ? '' : ', missed'),
  ]);
  const widths = HEAD.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  const renderRow = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [HEAD, rule, ...rows].map(renderRow).join('\n');
}

/** Formats a number with thousands separators, and with fewer decimals the larger it is. */
const formatNumber = (value: number): string =>
  value.toLocaleString('en', {
    maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0,
  });
