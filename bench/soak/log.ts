import { writeFileSync } from 'node:fs';
import type { SoakReport } from './soak';
import type { SoakDisturbance } from './traffic';

/** The log that the functions wrote during a soak, without everything that would identify a key, a request or a record. */

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

/** One line of the service. `at`: when it was written, in milliseconds since the start of the traffic. */
export type SoakLogLine = { at: number } & Partial<Record<(typeof KEPT_FIELDS)[number], string | number | boolean>>;

/** First line of the file: what was done to Firestore and to the service, and when. */
export interface SoakLogHeader {
  seed: number;
  trafficMs: number;
  disturbances: SoakDisturbance[];
}

/** Converts a line of a function's output; undefined for one that is not an event of the service. */
export function toSoakLogLine(text: string, at: number): SoakLogLine | undefined {
  if (!text.startsWith('{')) return undefined;
  const line = JSON.parse(text) as Record<string, unknown>;
  if (typeof line['event'] !== 'string') return undefined;
  const kept = KEPT_FIELDS.filter((field) => line[field] !== undefined).map((field) => [field, line[field]]);
  return { at: Math.round(at), ...Object.fromEntries(kept) } as SoakLogLine;
}

/** Writes the log as JSON Lines: the header, then one line per event. */
export function writeSoakLog(file: string, { options, trafficMs, disturbances, log }: SoakReport): void {
  const rounded = disturbances.map(({ kind, from, to }) => ({ kind, from: Math.round(from), to: Math.round(to) }));
  const header: SoakLogHeader = { seed: options.seed, trafficMs: Math.round(trafficMs), disturbances: rounded };
  writeFileSync(file, [header, ...log].map((line) => `${JSON.stringify(line)}\n`).join(''));
}
