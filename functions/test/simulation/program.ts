import { once } from 'node:events';
import { forkProgram } from '../../../test/support/programs';
import { getBundleVariables, bundleProgram } from '../resilience/bundle';

/** Bundles the simulation into one file. */
export const bundleSimulation = (outfile: string): Promise<void> =>
  bundleProgram('functions/test/simulation/simulate.ts', outfile);

/** Schedules to run, by a bundle of the simulation. */
export interface SimulationRun {
  program: string;
  seed: number;
  schedules: number;
  /** What of the service is broken, by its name in breaks.ts. */
  breakName?: string;
}

/** What a run printed, and its exit code. */
export interface SimulationOutput {
  code: number;
  text: string;
}

/** Each call to the Firestore SDK takes a stack trace, which nobody reads. */
const HOST_OPTIONS = ['--stack-trace-limit=1'];

/**
 * A process that runs simulations one after another. The packages behind them are loaded and compiled once for all, which
 * takes as long as many schedules.
 */
export class SimulationHost {
  readonly #process = forkProgram('functions/test/simulation/host.cjs', {
    env: getBundleVariables(),
    execArgv: HOST_OPTIONS,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  #last: Promise<unknown> = Promise.resolve();

  /** Runs schedules after those that it was given before. */
  run(run: SimulationRun): Promise<SimulationOutput> {
    const output = this.#last.then(async () => {
      this.#process.send(run);
      const [result] = (await Promise.race([once(this.#process, 'message'), this.#failed()])) as [SimulationOutput];
      return result;
    });
    this.#last = output.catch(() => undefined);
    return output;
  }

  /** Ends the process, once it has run everything. */
  async close(): Promise<void> {
    await this.#last;
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill();
    await ended;
  }

  async #failed(): Promise<never> {
    const [code] = (await once(this.#process, 'exit')) as [number | null];
    throw new Error(`the process of the simulation ended with ${code}`);
  }
}
