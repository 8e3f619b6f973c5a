/** A second signal within this time is the same Ctrl-C: a terminal also sends it to npm, which passes it on. */
const SAME_REQUEST_MS = 500;

/**
 * Calls `fn` at each request to stop: Ctrl-C, SIGTERM, a closed terminal; under npm also at npm's end, since the shell between
 * them passes no SIGTERM on. (`exec` in the script would do that, but not on Windows.)
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
