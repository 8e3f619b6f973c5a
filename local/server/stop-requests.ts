/**
 * Calls `fn` at each request to stop: Ctrl-C, SIGTERM, a closed terminal; under npm also at npm's end, since the shell between
 * them passes no SIGTERM on. (`exec` in the script would do that, but not on Windows.)
 */
export function onStopRequest(fn: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, fn);
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    fn();
  }, 250).unref();
}
