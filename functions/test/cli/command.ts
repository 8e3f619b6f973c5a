import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleEnvironment, bundleProgram } from '../resilience/bundle';

/** The command as an operator runs it: a process of its own. */

export interface CommandOutput {
  code: number | null;
  out: string;
  err: string;
}

export interface RunningCommand {
  process: ChildProcess;
  /** Resolves when the process ends. */
  output: Promise<CommandOutput>;
}

export interface CommandProgram {
  start: (...args: string[]) => RunningCommand;
  run: (...args: string[]) => Promise<CommandOutput>;
  remove: () => Promise<void>;
}

/** Bundles the command, so that it starts fast. */
export async function buildCommand(): Promise<CommandProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'command-'));
  const program = join(folder, 'price-lists.cjs');
  await bundleProgram('functions/cli/price-lists.ts', program);
  const start = (...args: string[]): RunningCommand => {
    const child = spawn(process.execPath, [program, ...args], {
      env: bundleEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (data: Buffer) => (out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (err += data.toString()));
    const output = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }));
    return { process: child, output };
  };
  return {
    start,
    run: (...args) => start(...args).output,
    remove: () => rm(folder, { recursive: true }),
  };
}
