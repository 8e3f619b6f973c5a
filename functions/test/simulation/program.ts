import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forkProgram } from '../../../test/support/programs';
import { bundleProgram, getBundleVariables } from '../resilience/bundle';

/** So few that a handful of products takes several chunks, some beyond the claim, and several batches. */
const COMMIT_SIZES = { MAX_ENTRIES_PER_COMMIT: 3, MAX_CHUNK_BYTES: 90, MAX_CLAIM_CHUNKS: 2 };

/** Schedules to run. */
export interface SimulationRun {
  seed: number;
  schedules: number;
  /** What of the service is broken, by its name in breaks.ts. */
  breakName?: string | undefined;
}

/** What a run printed, and its exit code. */
export interface SimulationOutput {
  code: number;
  text: string;
}

type HostMessage = { line: string } | { code: number };

/** Each call to the Firestore SDK takes a stack trace, which nobody reads. */
const HOST_OPTIONS = ['--stack-trace-limit=1'];

/** The simulation as one file, with the service in it. */
export class SimulationProgram {
  readonly #folder = mkdtempSync(join(tmpdir(), 'simulation-'));
  readonly #path = join(this.#folder, 'simulation.cjs');
  /** The file is there once it resolves. */
  readonly #built = bundleProgram('functions/test/simulation/simulate.ts', this.#path, COMMIT_SIZES);

  /** Resolves with the path of the file. */
  async getPath(): Promise<string> {
    await this.#built;
    return this.#path;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

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

  constructor(private readonly program: SimulationProgram) {}

  /** Runs schedules after those that it was given before. @param print called with each line */
  run(run: SimulationRun, print: (line: string) => void = () => undefined): Promise<SimulationOutput> {
    const output = this.#last.then(async () => this.#run({ ...run, program: await this.program.getPath() }, print));
    this.#last = output.catch(() => undefined);
    return output;
  }

  /** Ends the process, once it has run everything. */
  async close(): Promise<void> {
    await this.#last;
    if (this.#process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill();
    await ended;
  }

  #run(run: SimulationRun & { program: string }, print: (line: string) => void): Promise<SimulationOutput> {
    const lines: string[] = [];
    return new Promise((resolve, reject) => {
      const fail = (code: number | null) => reject(new Error(`the process of the simulation ended with ${code}`));
      const receive = (message: HostMessage) => {
        if ('line' in message) {
          lines.push(message.line);
          print(message.line);
          return;
        }
        this.#process.off('message', receive).off('exit', fail);
        resolve({ code: message.code, text: lines.join('\n') });
      };
      this.#process.on('message', receive).once('exit', fail).send(run);
    });
  }
}
