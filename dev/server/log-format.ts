import { inspect } from 'node:util';
import { escapeJsonControls } from '../../command/cli/text';

interface LogEntry extends Record<string, unknown> {
  severity: string;
}

/**
 * Makes the console print log entries of the functions for a person at a terminal, and other text unchanged. Omits the entry about
 * the end of a sweep that resumed and deferred nothing. Call this before the functions are loaded, because their logger keeps the
 * console methods that exist at that time.
 */
export function installLogFormat(): void {
  for (const method of ['debug', 'info', 'warn', 'error'] as const) {
    const write = console[method].bind(console);
    console[method] = (...values: unknown[]) => {
      const entry = parseLogEntry(values[0]);
      if (entry === undefined) write(...values);
      else if (!isIdleSweep(entry)) write(formatLogEntry(entry, new Date()));
    };
  }
}

/** A sweep runs every minute, and the lines about the end of sweeps that resume and defer nothing would hide other lines. */
const isIdleSweep = ({ event, resumed, deferred }: LogEntry): boolean =>
  event === 'sweep_ended' && resumed === 0 && deferred === 0;

/** @returns undefined if the text is not one structured log line */
function parseLogEntry(text: unknown): LogEntry | undefined {
  try {
    const entry = JSON.parse(String(text)) as LogEntry;
    return typeof entry.severity === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** Formats an entry as its time, severity and message. A line that is not routine also has the other fields and the stack. */
export function formatLogEntry({ severity, message, stack = '', ...fields }: LogEntry, time: Date): string {
  const isRoutine = severity === 'INFO' || severity === 'DEBUG';
  const details = isRoutine ? '' : ` ${inspect(fields, { breakLength: Infinity })}\n${String(stack)}`;
  const line = `${time.toTimeString().slice(0, 8)} ${severity.padEnd(7)} ${String(message)}${details}`;
  // A character in a log field must not control the terminal, or hide what is in the field.
  return escapeJsonControls(line.trimEnd());
}
