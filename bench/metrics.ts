import type { Stats } from './measure';
import { renderTable } from './tables';

/** A measured value. */
export interface BenchMetric {
  scenario: string;
  metric: string;
  unit: string;
  /** The median of rounds, if there are several. */
  value: number;
  spread: Stats | undefined;
  /** Absent for a value without a target. */
  bound: Bound | undefined;
}

/** The target of a value. */
export interface Bound {
  text: string;
  holds: (value: number) => boolean;
  /** Whether a miss fails the bench: true for calls and most of the memory, which other load does not change. */
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

/** A Markdown table: medians, ranges, targets. */
export function renderMetrics(metrics: readonly BenchMetric[]): string {
  const rows = metrics.map(({ scenario, metric, value, unit, spread, bound }, i) => [
    metrics[i - 1]?.scenario === scenario ? '' : scenario,
    metric,
    `${formatNumber(value)}${unit === '' ? '' : ` ${unit}`}`,
    spread === undefined ? '' : `${formatNumber(spread.min)} to ${formatNumber(spread.max)}`,
    bound?.text ?? '',
    bound === undefined ? '' : bound.holds(value) ? 'yes' : 'NO',
  ]);
  return renderTable(['Scenario', 'Metric', 'Value', 'Range', 'Target', 'Met'], rows, 6);
}

/** Three significant digits, with thousands separators. */
const formatNumber = (value: number): string =>
  value.toLocaleString('en', {
    maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0,
  });
