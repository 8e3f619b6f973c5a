import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runPriceLists } from '../../command/cli/main';

export interface CommandOutput {
  code: number | null;
  out: string;
  err: string;
}

/** Runs a command in this process, because starting another process would take longer. */
export const runCommand = (...args: string[]): Promise<CommandOutput> => runWithInput(new PassThrough(), args);

/** Runs a command whose input and output are a terminal, in which the operator has typed a line. */
export function runCommandAtTerminal(line: string, ...args: string[]): Promise<CommandOutput> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write(`${line}\n`);
  return runWithInput(stdin, args);
}

async function runWithInput(stdin: PassThrough & { isTTY?: boolean }, args: string[]): Promise<CommandOutput> {
  // 0 columns, as on a pseudo-terminal without a size, so `report` must print whole lines.
  const stdout = Object.assign(new PassThrough(), { columns: 0, isTTY: stdin.isTTY === true });
  const stderr = new PassThrough();
  const output = Promise.all([text(stdout), text(stderr)]);
  const code = await runPriceLists(args, { stdin, stdout, stderr }, () => new AbortController().signal);
  stdout.end();
  stderr.end();
  const [out, err] = await output;
  return { code, out, err };
}

/** Parses the output of a command that prints one value in each line with `--json`. */
export const parseLines = (out: string): unknown[] =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
