/** Receives the values of a console line. @returns whether it keeps the line from being printed */
type LineTaker = (values: unknown[]) => boolean;

let take: LineTaker = () => false;

/**
 * Passes the console's info, warnings and errors to a function before they are printed. Jest loads this module
 * before a test file, because loggers keep the console methods that exist when they are loaded.
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
