import { PROJECT } from '../deployment/deployed';
import { buildCommand } from './command';

/** `npm run price-lists -- sweep --watch` beside the service, as a process of its own. */

export interface SweepSummary {
  exitCode: number | null;
  /** How often the sweep had each result; it may defer one key many times. */
  results: Record<string, number>;
  errors: string;
}

export interface SweepProcess {
  /** Ends the process with SIGTERM. May be called again. */
  stop: () => Promise<SweepSummary>;
}

/** @param watch the option; null: no sweep, which shows what it is for */
export async function startSweepProcess(watch: string | null): Promise<SweepProcess> {
  if (watch === null) return { stop: () => Promise.resolve({ exitCode: 0, results: {}, errors: '' }) };
  const command = await buildCommand();
  const running = command.start('sweep', '--watch', watch, '--json', '--project', PROJECT);
  const summary = running.output.then(async ({ code, out, err }) => {
    await command.remove();
    const lines = out.split('\n').filter((line) => line !== '');
    const results: Record<string, number> = {};
    for (const line of lines) {
      const { result } = JSON.parse(line) as { result: string };
      results[result] = (results[result] ?? 0) + 1;
    }
    return { exitCode: code, results, errors: err };
  });
  return {
    stop: () => {
      if (running.process.exitCode === null) running.process.kill('SIGTERM');
      return summary;
    },
  };
}
