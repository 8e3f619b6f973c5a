import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { abortable } from '../../functions/src/lib/clock';
import { CommandError, OutputError } from './errors';
import { escapeControls } from './text';

export interface Streams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

type OutputStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

async function write(output: OutputStream, text: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  output.write(text, (error) => (error ? reject(new OutputError()) : resolve(undefined)));
  promise.catch(() => undefined);
  await abortable(signal, () => promise);
}

const escapeLines = (text: string): string => text.split('\n').map(escapeControls).join('\n');

export class Terminal {
  constructor(readonly streams: Streams) {}

  print(text: string): void {
    this.streams.stdout.write(text);
  }

  /** Writes text, and waits until it is written or the command has to stop. @throws OutputError, or the signal's reason */
  write(text: string, signal: AbortSignal): Promise<void> {
    return write(this.streams.stdout, text, signal);
  }

  /** As {@link write}, but for an error or a note, which {@link printError} would print without waiting. */
  writeError(text: string, signal: AbortSignal): Promise<void> {
    return write(this.streams.stderr, escapeLines(text), signal);
  }

  /** Prints an error or a note. The text can quote stored text, so control characters are escaped in each line. */
  printError(text: string): void {
    this.streams.stderr.write(escapeLines(text));
  }

  /** Asks the operator to confirm. @throws CommandError unless the answer is yes */
  async confirm(question: string, signal: AbortSignal): Promise<void> {
    const { stdin, stderr } = this.streams;
    if (stdin.isTTY !== true) {
      throw new CommandError(`${question}\nStandard input is not a terminal, so nobody can confirm this. Pass --yes.`);
    }
    // `terminal: false` avoids raw mode, in which Ctrl-C and Ctrl-Z would send no signal.
    const terminal = createInterface({ input: stdin, output: stderr, terminal: false });
    // If the input ends, the interface closes but the question stays pending.
    const ended = once(terminal, 'close').then(() => '');
    const answer = terminal.question(`${question}\nContinue? [y/N] `, { signal }).catch(() => '');
    const response = await Promise.race([answer, ended]);
    terminal.close();
    if (!/^y(es)?$/i.test(response.trim())) throw new CommandError('Nothing was changed.');
  }
}
