import type { RequestKind, SoakReport } from './soak';

/** The report of a soak as text and as a picture. */

const KINDS: readonly RequestKind[] = ['read', 'create', 'replay', 'conflict', 'refused'];

/** The q-th part of the values, from 0 to 1. */
export function percentile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

/** A table of latencies by kind, and what else there is to say. */
export function renderSoakText({
  options,
  answers,
  outages,
  memory,
  heapMegabytes,
  keys,
  violations,
}: SoakReport): string {
  const row = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => String(cell).padStart(8)).join(' | ')} |`;
  const rows = KINDS.map((kind) => {
    const of = answers.filter((answer) => answer.kind === kind);
    const ms = of.map((answer) => answer.ms);
    const failed = of.filter(({ status }) => status >= 500).length;
    return row([kind, of.length, failed, ...[0.5, 0.95, 0.99, 1].map((q) => Math.round(percentile(ms, q)))]);
  });
  const total = memory.map(({ megabytes }) => Object.values(megabytes).reduce((sum, each) => sum + each, 0));
  return [
    row(['asked', 'answers', '5xx', 'p50 ms', 'p95 ms', 'p99 ms', 'max ms']),
    row(Array.from({ length: 7 }, () => '-------:')),
    ...rows,
    '',
    `${Math.round(answers.length / options.seconds)} answers a second over ${options.connections} connections for ${options.seconds} s, seed ${options.seed}.`,
    ...outages.map(
      ({ kind, from, to }) =>
        `Firestore ${kind} from ${seconds(from)} to ${seconds(to)} s; ${recovery({ answers, to })}.`,
    ),
    `Memory of the six processes together: ${Math.round(total[0] ?? 0)} MB at first, ${Math.round(Math.max(...total))} MB at most, ${Math.round(total.at(-1) ?? 0)} MB at last.`,
    `Held after garbage collection, before and after, MB: ${Object.entries(heapMegabytes)
      .map(([name, { before, after }]) => `${name} ${Math.round(before)} and ${Math.round(after)}`)
      .join(', ')}.`,
    `Keys: ${keys.completed} completed, ${keys.unsettled} left to an operator. Nothing lost, nothing twice: ${violations.length === 0 ? 'holds' : 'DOES NOT HOLD'}.`,
    ...violations.slice(0, 20).map((fault) => `- ${fault}`),
  ].join('\n');
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

function recovery({ answers, to }: { answers: SoakReport['answers']; to: number }): string {
  const after = answers
    .filter(({ kind, at, ms }) => kind === 'read' && at + ms > to)
    .sort((a, b) => a.at + a.ms - b.at - b.ms);
  const first = after.find(({ status }) => status === 200);
  return first === undefined
    ? 'no read was answered after it'
    : `the first read was answered ${seconds(first.at + first.ms - to)} s after it`;
}

const WIDTH = 720;
const HEIGHT = 170;
const LEFT = 56;

/** Answers a second and memory over time, the outages shaded. */
export function renderSoakChart({ options, answers, outages, memory }: SoakReport): string {
  const x = (ms: number) => LEFT + ((WIDTH - LEFT - 8) * ms) / (options.seconds * 1_000);
  const panel = (top: number, title: string, points: readonly [number, number][]) => {
    const most = Math.max(1, ...points.map(([, value]) => value)) * 1.1;
    const y = (value: number) => top + HEIGHT - 30 - ((HEIGHT - 60) * value) / most;
    const line = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    const shades = outages.map(
      ({ kind, from, to }) =>
        `<rect x="${x(from).toFixed(1)}" y="${top + 30}" width="${(x(to) - x(from)).toFixed(1)}" height="${HEIGHT - 60}" fill="#d33" opacity="0.15"/>` +
        `<text x="${x(from).toFixed(1)}" y="${top + 42}" font-size="10" fill="#a22">Firestore ${kind}</text>`,
    );
    const ticks = [0, most / 2, most].map(
      (value) =>
        `<text x="${LEFT - 6}" y="${y(value) + 4}" text-anchor="end" font-size="10" fill="#555">${Math.round(value)}</text>`,
    );
    return [
      `<text x="${LEFT}" y="${top + 18}" font-size="13" font-weight="600">${title}</text>`,
      `<path d="M${LEFT} ${top + 30}V${top + HEIGHT - 30}H${WIDTH - 8}" fill="none" stroke="#999"/>`,
      ...shades,
      ...ticks,
      `<polyline points="${line}" fill="none" stroke="#2563a8" stroke-width="1.5"/>`,
    ].join('\n');
  };
  const rate = Array.from({ length: options.seconds }, (_, second): [number, number] => [
    second * 1_000 + 500,
    answers.filter(({ at, ms }) => Math.floor((at + ms) / 1_000) === second).length,
  ]);
  const total = memory.map(({ at, megabytes }): [number, number] => [
    at,
    Object.values(megabytes).reduce((sum, each) => sum + each, 0),
  ]);
  const axis = Array.from({ length: 7 }, (_, i) => (options.seconds * i) / 6).map(
    (second) =>
      `<text x="${x(second * 1_000)}" y="${2 * HEIGHT - 12}" text-anchor="middle" font-size="10" fill="#555">${Math.round(second)} s</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${2 * HEIGHT}" font-family="sans-serif">`,
    `<rect width="${WIDTH}" height="${2 * HEIGHT}" fill="#fff"/>`,
    panel(0, `Answers a second, ${options.connections} connections`, rate),
    panel(HEIGHT, 'Resident memory of the six processes, MB', total),
    ...axis,
    '</svg>',
    '',
  ].join('\n');
}
