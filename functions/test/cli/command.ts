import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { build } from 'esbuild';
import { runPriceLists } from '../../cli/main';
import { startProgram } from '../../../scripts/harness/programs';

export interface CommandOutput {
  code: number | null;
  out: string;
  err: string;
}

/** The command as a program of its own. */
export type CommandProgram = Awaited<ReturnType<typeof buildCommand>>;

/** Runs a command in this process, because it takes longer to start another process. */
export const runCommand = (...args: string[]): Promise<CommandOutput> => runWithInput(new PassThrough(), args);

/** Runs a command whose input is a terminal, in which the operator has typed a line. */
export function runCommandAtTerminal(line: string, ...args: string[]): Promise<CommandOutput> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(`${line}\n`);
  return runWithInput(stdin, args);
}

async function runWithInput(stdin: PassThrough, args: string[]): Promise<CommandOutput> {
  // A pseudo-terminal without a size has 0 columns.
  const stdout = Object.assign(new PassThrough(), { columns: 0 });
  const stderr = new PassThrough();
  const output = Promise.all([text(stdout), text(stderr)]);
  const code = await runPriceLists(args, { stdin, stdout, stderr }, () => new AbortController().signal);
  stdout.end();
  stderr.end();
  const [out, err] = await output;
  return { code, out, err };
}

/** Parses what a command prints with `--json`: one value in each line. */
export const parseLines = (out: string): unknown[] =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);

/** Bundles the command, so that it starts fast. Its packages stay outside the bundle. */
export async function buildCommand() {
  const folder = mkdtempSync(join(tmpdir(), 'command-'));
  const program = join(folder, 'price-lists.cjs');
  await build({
    entryPoints: ['functions/cli/price-lists.ts'],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    logLevel: 'error',
  });
  const env = {
    // The bundle finds its packages and the Firestore of its test from any folder.
    NODE_PATH: resolve('node_modules'),
    FIRESTORE_EMULATOR_HOST: process.env['FIRESTORE_EMULATOR_HOST'],
    GCLOUD_PROJECT: process.env['GCLOUD_PROJECT'],
    METADATA_SERVER_DETECTION: 'none',
    NODE_COMPILE_CACHE: join(folder, 'compile-cache'),
  };
  const startIn = (executable: string, ...args: string[]) => {
    const child = startProgram(executable, args, { env });
    let out = '';
    let err = '';
    child.stdout.on('data', (data: Buffer) => (out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (err += data.toString()));
    const output = once(child, 'close').then(([code]): CommandOutput => ({ code: code as number | null, out, err }));
    return { process: child, output };
  };
  return {
    start: (...args: string[]) => startIn(process.execPath, program, ...args),
    /** Runs a line in `sh`. In the line, `"$@"` is the command with its arguments. */
    runInShell: (line: string, ...args: string[]) =>
      startIn('sh', '-c', line, 'sh', process.execPath, program, ...args).output,
    remove: () => rm(folder, { recursive: true }),
  };
}
