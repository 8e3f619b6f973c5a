import { createInterface } from 'node:readline/promises';
import { CommandError } from './errors';
import { escapeControls } from './escape';

/** The streams of a command. */
export interface Streams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

type OutputStream = NodeJS.WritableStream & { readonly isTTY?: boolean };

const BAR_WIDTH = 40;

/** What a command says to its operator, and asks. */
export class Terminal {
  #isBarOpen = false;

  constructor(readonly streams: Streams) {}

  print(text: string): void {
    this.streams.stdout.write(text);
  }

  /** Prints an error text, which may quote stored text, line by line. */
  printError(text: string): void {
    if (this.#isBarOpen) this.streams.stderr.write('\n');
    this.#isBarOpen = false;
    this.streams.stderr.write(text.split('\n').map(escapeControls).join('\n'));
  }

  /** Draws a bar that grows, on a line of its own; nothing without a terminal or a total. */
  drawProgress(done: number, total: number, unit: string): void {
    const { stderr } = this.streams;
    if (stderr.isTTY !== true || total === 0) return;
    const bar = '█'.repeat(Math.round((Math.min(done, total) / total) * BAR_WIDTH)).padEnd(BAR_WIDTH, '░');
    this.#isBarOpen = done < total;
    stderr.write(`\r  ${bar} ${done} of ${total} ${unit}${this.#isBarOpen ? '' : '\n'}`);
  }

  /** Asks before anything is written. @throws CommandError unless the response is yes */
  async confirm(question: string, signal: AbortSignal): Promise<void> {
    const { stdin, stderr } = this.streams;
    if (stdin.isTTY !== true) {
      throw new CommandError(`${question}\nConfirmation required, but stdin is not a terminal. Pass --yes.`);
    }
    const terminal = createInterface({ input: stdin, output: stderr });
    // On a terminal in raw mode Ctrl-C is a key, not a signal.
    terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      const response = await terminal.question(`${question}\nGo on? [y/N] `, { signal });
      if (!/^y(es)?$/i.test(response.trim())) throw new CommandError('Nothing was changed.');
    } catch (error) {
      throw signal.aborted ? new CommandError('Nothing was changed.') : error;
    } finally {
      terminal.close();
    }
  }
}
