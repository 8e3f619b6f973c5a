import { renderTable } from '../tables';
import { REQUEST_KINDS, type Disturbance, type RequestKind } from './traffic';

/** One try of a request: when it was sent and ended, in milliseconds since the start. */
export interface SoakTry {
  kind: RequestKind;
  from: number;
  to: number;
  /** 0: no response. */
  status: number;
}

export interface SoakFacts {
  trafficMs: number;
  /** From the end of the traffic until no key was in progress or required review. */
  completedMs: number;
  /** Attempts that the sweep resumed. */
  resumed: number;
  /** Lists whose creation got 200. */
  lists: number;
}

const COLUMNS = ['Request', 'Tries', '5xx', 'None', 'p50 ms', 'p95 ms', 'p99 ms', 'Max ms'];

/** The report of a soak: a table of latencies by kind of request, and the other results. */
export function renderReport(
  tries: readonly SoakTry[],
  disturbances: readonly Disturbance[],
  { trafficMs, completedMs, resumed, lists }: SoakFacts,
  violations: readonly string[],
): string {
  const rows = REQUEST_KINDS.map((kind) => {
    const sent = tries.filter((each) => each.kind === kind);
    const failed = sent.filter(({ status }) => status >= 500).length;
    const lost = sent.filter(({ status }) => status === 0).length;
    const ms = sent.map(({ from, to }) => Math.round(to - from)).sort((a, b) => a - b);
    const quantiles = [0.5, 0.95, 0.99].map((q) => ms[Math.floor(q * ms.length)] ?? '–');
    return [kind, sent.length, failed, lost, ...quantiles, ms.at(-1) ?? '–'];
  });
  return [
    renderTable(COLUMNS, rows, 1),
    '',
    ...disturbances.map((each) => {
      const { kind, from, to } = each;
      return `${kind} from ${seconds(from)} to ${seconds(to)} s; ${describeRecovery(tries, each)}.`;
    }),
    `${tries.length} tries in ${seconds(trafficMs)} s; ${lists} lists created, ${resumed} resumed.`,
    `The last key was completed ${seconds(completedMs)} s after the traffic.`,
    `Nothing lost, nothing twice: ${violations.length === 0 ? 'holds' : 'DOES NOT HOLD'}.`,
    ...violations.slice(0, 20).map((fault) => `- ${fault}`),
  ].join('\n');
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

function describeRecovery(tries: readonly SoakTry[], { kind, to }: Disturbance): string {
  const request = kind === 'Add price lists is stopped and started' ? 'create' : 'read';
  const first = tries
    .filter((each) => each.kind === request && each.status === 200)
    .reduce((earliest, each) => (each.to > to ? Math.min(earliest, each.to) : earliest), Infinity);
  return first === Infinity
    ? `no ${request} got 200 after it`
    : `the first ${request} got 200 ${seconds(first - to)} s after it`;
}
