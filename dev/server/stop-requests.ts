/** A second signal within this time counts as the same Ctrl-C, because the terminal also sends the signal to npm, which passes it on. */
const SAME_REQUEST_MS = 500;

/**
 * Calls `fn` for each request to stop: Ctrl-C, SIGTERM or a closed terminal. Under npm, also calls `fn` when the parent
 * ends, which can be a shell that does not pass SIGTERM on. (`exec` in the npm script would pass it on, but not on Windows.)
 */
export function onStopRequest(fn: () => void): void {
  let calledAt = -Infinity;
  const call = () => {
    if (performance.now() - calledAt < SAME_REQUEST_MS) return;
    calledAt = performance.now();
    fn();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, call);
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    call();
  }, 250).unref();
}
