/**
 * The log that the functions write during a soak, without everything that would identify a key, a request or a record. As a
 * file it is JSON Lines: the header, then one line per event.
 */

/** Fields that metrics, objectives and alerts read. Ids, reasons and stacks are left out. */
export const KEPT_FIELDS = [
  'event',
  'operation',
  'status',
  'error_code',
  'duration_ms',
  'firestore_ms',
  'count',
  'since_claim_ms',
  'needs_operator',
] as const;

/** One event of the service. `at`: when it was written, in milliseconds since the start of the traffic. */
export type RecordedLine = { at: number } & Partial<Record<(typeof KEPT_FIELDS)[number], string | number | boolean>>;

/** A disturbance of Firestore or of the service, in milliseconds since the start of the traffic. */
interface RecordedDisturbance {
  kind: 'firestore_hangs' | 'firestore_dead' | 'service_stopped';
  from: number;
  to: number;
}

export interface RecordedHeader {
  seed: number;
  trafficMs: number;
  disturbances: RecordedDisturbance[];
}

export interface RecordedLog {
  header: RecordedHeader;
  lines: RecordedLine[];
}

/** Converts a line of a function's output; undefined for one that is not an event of the service. */
export function toRecordedLine(text: string, at: number): RecordedLine | undefined {
  if (!text.startsWith('{')) return undefined;
  const line = JSON.parse(text) as Record<string, unknown>;
  if (typeof line['event'] !== 'string') return undefined;
  const kept = KEPT_FIELDS.filter((field) => line[field] !== undefined).map((field) => [field, line[field]]);
  return { at: Math.round(at), ...Object.fromEntries(kept) } as RecordedLine;
}

export function formatRecordedLog({ header, lines }: RecordedLog): string {
  const { seed, trafficMs, disturbances } = header;
  const rounded = disturbances.map(({ kind, from, to }) => ({ kind, from: Math.round(from), to: Math.round(to) }));
  const first: RecordedHeader = { seed, trafficMs: Math.round(trafficMs), disturbances: rounded };
  return [first, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

export function parseRecordedLog(text: string): RecordedLog {
  const [header, ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  return { header: header as RecordedHeader, lines: lines as RecordedLine[] };
}
