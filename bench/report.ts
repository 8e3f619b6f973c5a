import type { BenchMetric, ChartPoint } from './metrics';
import { variants, type Variant } from './stack';

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

const SERIES_STYLES: Record<Variant, { name: string; colour: string }> = {
  service: { name: 'this service', colour: '#0072b2' },
  sdk: { name: 'SDK baseline', colour: '#999999' },
  naive: { name: 'naive version', colour: '#d55e00' },
};

const PANEL = { width: 380, height: 240 };
const MARGIN = { left: 64, top: 44, right: 16, bottom: 48 };

/** Time and memory by response size, in two panels with linear axes. */
export function renderChart(points: readonly ChartPoint[], machine: string): string {
  const width = 2 * (PANEL.width + MARGIN.left + MARGIN.right);
  const height = PANEL.height + MARGIN.top + MARGIN.bottom + 44;
  const panels = [
    panel(points, 0, 'Time, seconds', ({ ms }) => ms / 1000),
    panel(points, width / 2, 'Peak memory above idle, MB', ({ peakMb }) => peakMb),
  ];
  const legend = variants.map((variant, i) => {
    const x = MARGIN.left + i * 210;
    const { name, colour } = SERIES_STYLES[variant];
    return `<rect x="${x}" y="${height - 38}" width="18" height="4" fill="${colour}"/>${text(x + 26, height - 32, name)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels,
    ...legend,
    text(MARGIN.left, height - 12, machine, 'start', '#777'),
    '</svg>',
    '',
  ].join('\n');
}

function panel(
  points: readonly ChartPoint[],
  left: number,
  title: string,
  getValue: (point: ChartPoint) => number,
): string {
  const mostX = Math.max(...points.map(({ orders }) => orders));
  const mostY = Math.max(...points.map(getValue)) * 1.05;
  const x = (orders: number) => Math.round(left + MARGIN.left + (orders / mostX) * PANEL.width);
  const y = (value: number) => Math.round(MARGIN.top + PANEL.height - (value / mostY) * PANEL.height);
  const lines = variants.map((variant) => {
    const own = points.filter((point) => point.variant === variant).sort((a, b) => a.orders - b.orders);
    const path = own.map((point) => `${x(point.orders)},${y(getValue(point))}`);
    const dots = path.map(
      (at) => `<circle cx="${at.replace(',', '" cy="')}" r="3" fill="${SERIES_STYLES[variant].colour}"/>`,
    );
    return `<polyline points="${path.join(' ')}" fill="none" stroke="${SERIES_STYLES[variant].colour}" stroke-width="2"/>${dots.join('')}`;
  });
  const rules = ticks(mostY).map(
    (value) =>
      `<path d="M${x(0)} ${y(value)}H${x(mostX)}" stroke="#e5e5e5"/>${text(x(0) - 8, y(value) + 4, formatNumber(value), 'end')}`,
  );
  const marks = ticks(mostX).map((orders) =>
    text(x(orders), MARGIN.top + PANEL.height + 18, formatNumber(orders), 'middle'),
  );
  const axis = text(x(mostX / 2), MARGIN.top + PANEL.height + 38, 'orders in the response', 'middle');
  return [...rules, ...marks, axis, ...lines, text(x(0), MARGIN.top - 18, title)].join('\n');
}

/** About five round values from 0 to `max`. */
function ticks(max: number): number[] {
  const rough = max / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, i) => i * step);
}

const text = (x: number, y: number, content: string, anchor = 'start', fill = '#333'): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${content}</text>`;
