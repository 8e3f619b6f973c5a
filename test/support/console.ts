/** Receives the values of a console line. @returns whether it keeps the line from being printed */
type LineTaker = (values: unknown[]) => boolean;

let take: LineTaker = () => false;

/**
 * Passes each console line of a test file to a function before it is printed. This module runs
 * before all others, because loggers keep the console methods that exist when they are loaded.
 */
export function takeConsoleLines(taker: LineTaker): void {
  take = taker;
}

for (const method of ['info', 'warn', 'error'] as const) {
  const print = console[method].bind(console);
  console[method] = (...values: unknown[]) => {
    if (!take(values)) print(...values);
  };
}
