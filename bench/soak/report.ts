import type { SoakReport } from './soak';
import type { RequestKind, SoakDisturbance } from './traffic';

/** The report of a soak as text and as a picture. */

const KINDS: readonly RequestKind[] = ['read', 'create', 'replay', 'conflict', 'rejected'];

/** The q-th part of the values, from 0 to 1. */
export function percentile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

/** A table of latencies by kind of request, and a list of the other results. */
export function renderSoakText({
  options,
  trafficMs,
  responses,
  disturbances,
  stop,
  sweep,
  completedMs,
  memory,
  heapMegabytes,
  keys,
  violations,
}: SoakReport): string {
  const row = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => String(cell).padStart(8)).join(' | ')} |`;
  const rows = KINDS.map((kind) => {
    const of = responses.filter((response) => response.kind === kind);
    const ms = of.map((response) => response.ms);
    const failed = of.filter(({ status }) => status >= 500).length;
    const lost = of.filter(({ status }) => status === 0).length;
    return row([kind, of.length, failed, lost, ...[0.5, 0.95, 0.99, 1].map((q) => Math.round(percentile(ms, q)))]);
  });
  const total = memory.map(({ megabytes }) => Object.values(megabytes).reduce((sum, each) => sum + each, 0));
  return [
    row(['request', 'tries', '5xx', 'none', 'p50 ms', 'p95 ms', 'p99 ms', 'max ms']),
    row(Array.from({ length: 8 }, () => '-------:')),
    ...rows,
    '',
    `${Math.round(responses.length / (trafficMs / 1_000))} responses per second over ${options.connections} connections for ${Math.round(trafficMs / 1_000)} s, seed ${options.seed}.`,
    ...disturbances.map(
      (each) =>
        `${TITLES[each.kind]} from ${seconds(each.from)} to ${seconds(each.to)} s; ${recovery(responses, each)}.`,
    ),
    `SIGTERM failed ${stop.failedCreations} creations in progress; the process ${stop.exitCode === null ? 'was killed after 10 s' : `exited with ${stop.exitCode}`}.`,
    `The sweep resumed ${sweep['resumed'] ?? 0} attempts, deferred ${sweep['deferred'] ?? 0}, left ${sweep['left'] ?? 0}. The last key was completed ${seconds(completedMs)} s after the traffic.`,
    `Memory of the functions' processes together: ${Math.round(total[0] ?? 0)} MB at first, ${Math.round(Math.max(...total))} MB at most, ${Math.round(total.at(-1) ?? 0)} MB at last.`,
    `Held after garbage collection, before and after, MB: ${Object.entries(heapMegabytes)
      .map(([name, { before, after }]) => `${name} ${Math.round(before)} and ${Math.round(after)}`)
      .join(', ')}.`,
    `Keys: ${keys.completed} completed, ${keys.left} left to an operator. Nothing lost, nothing twice: ${violations.length === 0 ? 'holds' : 'DOES NOT HOLD'}.`,
    ...violations.slice(0, 20).map((fault) => `- ${fault}`),
  ].join('\n');
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

const TITLES: Readonly<Record<SoakDisturbance['kind'], string>> = {
  firestore_hangs: 'Firestore hangs',
  firestore_dead: 'Firestore is dead',
  service_stopped: 'Add price lists is stopped and started',
};

function recovery(responses: SoakReport['responses'], { kind, to }: SoakDisturbance): string {
  const request = kind === 'service_stopped' ? 'create' : 'read';
  const ends = responses.filter((each) => each.kind === request && each.status === 200).map(({ at, ms }) => at + ms);
  const first = Math.min(...ends.filter((end) => end > to));
  return first === Infinity
    ? `no ${request} got 200 after it`
    : `the first ${request} got 200 ${seconds(first - to)} s after it`;
}

const WIDTH = 720;
const HEIGHT = 170;
const LEFT = 56;

/** Responses per second and memory over time, the disturbances shaded. */
export function renderSoakChart({ options, trafficMs, responses, disturbances, memory }: SoakReport): string {
  const x = (ms: number) => LEFT + ((WIDTH - LEFT - 8) * ms) / trafficMs;
  const panel = (top: number, title: string, points: readonly [number, number][]) => {
    const most = Math.max(1, ...points.map(([, value]) => value)) * 1.1;
    const y = (value: number) => top + HEIGHT - 30 - ((HEIGHT - 60) * value) / most;
    const line = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    const shades = disturbances.map(
      ({ kind, from, to }) =>
        `<rect x="${x(from).toFixed(1)}" y="${top + 30}" width="${(x(to) - x(from)).toFixed(1)}" height="${HEIGHT - 60}" fill="#d33" opacity="0.15"/>` +
        `<text x="${x(from).toFixed(1)}" y="${top + 42}" font-size="10" fill="#a22">${TITLES[kind]}</text>`,
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
  const rate = Array.from({ length: Math.floor(trafficMs / 1_000) }, (_, second): [number, number] => [
    second * 1_000 + 500,
    responses.filter(({ at, ms }) => Math.floor((at + ms) / 1_000) === second).length,
  ]);
  const total = memory.map(({ at, megabytes }): [number, number] => [
    at,
    Object.values(megabytes).reduce((sum, each) => sum + each, 0),
  ]);
  const axis = Array.from({ length: 7 }, (_, i) => (trafficMs * i) / 6_000).map(
    (second) =>
      `<text x="${x(second * 1_000)}" y="${2 * HEIGHT - 12}" text-anchor="middle" font-size="10" fill="#555">${Math.round(second)} s</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${2 * HEIGHT}" font-family="sans-serif">`,
    `<rect width="${WIDTH}" height="${2 * HEIGHT}" fill="#fff"/>`,
    panel(0, `Responses per second, ${options.connections} connections`, rate),
    panel(HEIGHT, "Resident memory of the functions' processes, MB", total),
    ...axis,
    '</svg>',
    '',
  ].join('\n');
}
