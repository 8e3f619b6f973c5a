import { execFile } from 'node:child_process';
import { bundleProgram, bundleEnvironment, type SourceReplacement } from '../resilience/bundle';

/** Bundles the simulation into one file, perhaps with a file of the service replaced. */
export const bundleSimulation = (outfile: string, replaced?: SourceReplacement): Promise<void> =>
  bundleProgram('functions/test/simulation/run-simulation.ts', outfile, replaced);

/** What a run of the simulation in a process of its own said, and its exit code. */
export interface ProcessOutput {
  code: number;
  text: string;
}

/** Runs schedules in a process of its own. */
export function runSimulation(program: string, seed: number, schedules: number): Promise<ProcessOutput> {
  const args = [program, '--schedules', String(schedules), '--seed', String(seed)];
  const options = { env: bundleEnvironment(), maxBuffer: 64 * 1024 * 1024 };
  return new Promise((done) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), text: stdout + stderr }),
    );
  });
}
