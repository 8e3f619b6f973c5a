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
  /** Whether the reader is a person at a terminal. */
  isTerminal: boolean;
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
 * Formats the structured lines that are written to this thread's console from now on; other text is unchanged. Call it before
 * the functions are loaded, because their logger keeps the console methods that it finds.
 */
export function installLogFormat(format: LogFormat): void {
  for (const method of CONSOLE_METHODS) {
    const write = console[method].bind(console);
    console[method] = (...values: unknown[]) => {
      const entry = values.length === 1 ? parseLogEntry(values[0]) : undefined;
      if (entry === undefined) write(...values);
      else if (!(format.isTerminal && isIdleSweep(entry))) write(formatLogEntry(entry, format));
    };
  }
}

/** Every minute: a person at a terminal would look for other lines among these. */
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

export function formatLogEntry(entry: LogEntry, { isTerminal, getTime }: LogFormat): string {
  const time = getTime();
  if (!isTerminal) return JSON.stringify({ time: time.toISOString(), ...entry });

  const { severity, message = '', stack, ...fields } = entry;
  const details = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${formatField(value)}`);
  const line = [
    style('dim', formatClock(time)),
    style(STYLES[severity] ?? 'bold', severity.padEnd(7)),
    // A control character in a log field must not change the terminal.
    escapeControlCharacters(message),
    style('dim', details.join(' ')),
  ].join(' ');
  return typeof stack === 'string' ? `${line}\n${escapeControlCharacters(stack)}` : line;
}

/** A thread does not know that its output reaches a terminal, so `styleText` must not check. */
const style = (format: Parameters<typeof styleText>[0], text: string) =>
  process.env['NO_COLOR'] === undefined ? styleText(format, text, { validateStream: false }) : text;

/** Local time of day with milliseconds, e.g. `09:05:07.042`. */
function formatClock(time: Date): string {
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((value) => pad(value)).join(':');
  return `${clock}.${pad(time.getMilliseconds(), 3)}`;
}

/** A string without spaces stands as it is, everything else as JSON. */
const formatField = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? escapeControlCharacters(value) : JSON.stringify(value);

const escapeControlCharacters = (text: string): string =>
  stripVTControlCharacters(text).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '\ufffd');
