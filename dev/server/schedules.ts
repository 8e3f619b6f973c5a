/** A function that Cloud Scheduler calls in production. firebase-functions attaches both properties. */
export interface ScheduledFunction {
  readonly __endpoint: { readonly scheduleTrigger?: { readonly schedule?: unknown } };
  readonly run: (event: { scheduleTime: string }) => unknown;
}

const MINUTE_MS = 60_000;

/**
 * Calls each function at every full minute, as Cloud Scheduler does. Unlike Cloud Scheduler, does not wait until the
 * previous call has ended. Logs the error of a call. If Ctrl-C interrupts a sweep, the keys whose attempts it was resuming
 * are due again when the leases expire.
 *
 * @returns a function that stops the calls
 * @throws Error for a schedule other than every minute
 */
export function startSchedules(functions: readonly ScheduledFunction[]): () => void {
  for (const { __endpoint } of functions) {
    const { schedule } = __endpoint.scheduleTrigger ?? {};
    if (schedule !== '* * * * *') throw new Error(`the schedule ${String(schedule)} is not supported`);
  }
  const call = async (each: ScheduledFunction): Promise<void> => {
    try {
      await each.run({ scheduleTime: new Date().toISOString() });
    } catch (error) {
      console.error('A scheduled function failed:', error);
    }
  };
  const schedule = () => setTimeout(callAll, MINUTE_MS - (Date.now() % MINUTE_MS));
  const callAll = () => {
    for (const each of functions) void call(each);
    timer = schedule();
  };
  let timer = schedule();
  return () => clearTimeout(timer);
}
