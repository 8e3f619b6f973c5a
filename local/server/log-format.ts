import { stripVTControlCharacters, styleText } from 'node:util';

/**
 * Log lines of the functions on this machine: JSON with a `time` for programs, one readable line for a terminal. Cloud Logging
 * adds the time itself, so the functions do not.
 */

interface LogEntry extends Record<string, unknown> {
  severity: string;
  message?: string;
}

export interface LogFormat {
  /** Width of the terminal; undefined if a program reads the output. */
  getColumns: () => number | undefined;
  getTime: () => Date;
}

const STYLES: Record<string, Parameters<typeof styleText>[0]> = {
  DEBUG: 'dim',
  INFO: 'green',
  NOTICE: 'yellow',
  WARNING: 'yellow',
  ERROR: 'red',
};

const CONSOLE_METHODS = ['debug', 'info', 'warn', 'error'] as const;

/**
 * Formats structured lines on this thread's console from now on; other text is unchanged. Call it before the functions are
 * loaded, because their logger keeps the console methods that exist at that time.
 */
export function installLogFormat(format: LogFormat): void {
  for (const method of CONSOLE_METHODS) {
    const write = console[method].bind(console);
    console[method] = (...values: unknown[]) => {
      const entry = values.length === 1 ? parseLogEntry(values[0]) : undefined;
      if (entry === undefined) write(...values);
      else if (format.getColumns() === undefined || !isIdleSweep(entry)) write(formatLogEntry(entry, format));
    };
  }
}

/** A sweep without results runs every minute. Its lines would hide others from a person at a terminal. */
const isIdleSweep = ({ event, resumed, deferred }: LogEntry): boolean =>
  event === 'sweep_ended' && resumed === 0 && deferred === 0;

/** @returns undefined if the text is not one structured log line */
export function parseLogEntry(text: unknown): LogEntry | undefined {
  if (typeof text !== 'string' || !text.startsWith('{')) return undefined;
  try {
    const entry = JSON.parse(text) as Record<string, unknown>;
    return typeof entry['severity'] === 'string' ? { ...entry, severity: entry['severity'] } : undefined;
  } catch {
    return undefined;
  }
}

export function formatLogEntry(entry: LogEntry, { getColumns, getTime }: LogFormat): string {
  const time = getTime();
  const columns = getColumns();
  if (columns === undefined) return JSON.stringify({ time: time.toISOString(), ...entry });

  const { severity, message = '', stack, ...fields } = entry;
  const clock = formatClock(time);
  const label = severity.padEnd(7);
  // A control character in a log field must not change the terminal.
  const text = escapeControlCharacters(message);
  const used = `${clock} ${label} ${text}`.length;
  const details = isRoutine(entry) ? selectDetails(fields, columns - used) : formatDetails(Object.entries(fields));
  const line = [style('dim', clock), style(STYLES[severity] ?? 'bold', label), text, style('dim', details)].join(' ');
  return typeof stack === 'string' ? `${line}\n${escapeControlCharacters(stack)}` : line;
}

/** Whether a line is routine. A routine line is cut to the width of the terminal instead of showing all its fields. */
const isRoutine = ({ severity }: LogEntry): boolean => severity === 'INFO' || severity === 'DEBUG';

/** The fields that a routine line shows, most useful first. The message already names the event. */
const ROUTINE_FIELDS = [
  'duration_ms',
  'count',
  'replayed',
  'products_count',
  'since_claim_ms',
  'document_id',
  'request_id',
];

/** Returns as many of {@link ROUTINE_FIELDS} as fit, from the first on. */
function selectDetails(fields: Readonly<Record<string, unknown>>, width: number): string {
  const entries = ROUTINE_FIELDS.map((name) => [name, fields[name]] as const).filter(([, value]) => value !== false);
  const fitting = entries.map((_, i) => formatDetails(entries.slice(0, i + 1))).filter((text) => text.length < width);
  return fitting.at(-1) ?? '';
}

const formatDetails = (fields: readonly (readonly [name: string, value: unknown])[]): string =>
  fields
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${formatField(value)}`)
    .join(' ');

/** A thread does not know that its output reaches a terminal, so `styleText` must not check. */
const style = (format: Parameters<typeof styleText>[0], text: string) =>
  process.env['NO_COLOR'] === undefined ? styleText(format, text, { validateStream: false }) : text;

/** Local time of day with milliseconds, e.g. `09:05:07.042`. */
function formatClock(time: Date): string {
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((value) => pad(value)).join(':');
  return `${clock}.${pad(time.getMilliseconds(), 3)}`;
}

/** Returns a string without spaces unchanged, and any other value as JSON. */
const formatField = (value: unknown): string =>
  escapeControlCharacters(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));

const escapeControlCharacters = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '\ufffd');
