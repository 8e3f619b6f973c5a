/** Takes a line of the console. @returns false to have it printed */
type LineTaker = (values: unknown[]) => boolean;

let take: LineTaker = () => false;

/**
 * Has a test file look at each line before it is printed. This module runs before any other of a
 * test file, since loggers keep the console's methods as they find them when they are loaded.
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
