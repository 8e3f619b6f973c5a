import { DEPLOY_PACKAGE, startDeployedFunction } from './deployed';

export interface ScheduledSweep {
  /** Ends the process with SIGTERM. May be called again. */
  stop: () => Promise<{ exitCode: number | null; results: Record<string, number>; errors: string }>;
}

/**
 * Starts the function `sweepPriceLists` in a process of its own, and calls it as Cloud Scheduler
 * does; a call may begin before the last one has ended.
 */
export async function startScheduledSweep(intervalMs: number, env: Record<string, string>): Promise<ScheduledSweep> {
  const swept = await startDeployedFunction(DEPLOY_PACKAGE, 'sweepPriceLists', env);
  const call = () => void fetch(`http://127.0.0.1:${swept.port}`, { method: 'POST' }).catch(() => undefined);
  const timer = setInterval(call, intervalMs);
  const countEvents = (event: string) => swept.output.filter((line) => line.includes(`"event":"${event}"`)).length;
  let exited: Promise<number | null> | undefined;
  return {
    stop: async () => {
      clearInterval(timer);
      exited ??= swept.stop();
      const exitCode = await exited;
      const results = {
        resumed: countEvents('price_list_resumed'),
        deferred: countEvents('price_list_deferred'),
        left: countEvents('price_list_left'),
      };
      return { exitCode, results, errors: exitCode === 0 ? '' : swept.output.slice(-5).join('\n') };
    },
  };
}
