import type { SoakReport } from './soak';
import type { RequestKind, SoakDisturbance } from './traffic';

/** The report of a soak as text. */

const KINDS: readonly RequestKind[] = ['read', 'create', 'replay', 'conflict', 'rejected'];

/** The q-th part of the values, from 0 to 1. */
function percentile(values: readonly number[], q: number): number {
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
