import { createInterface } from 'node:readline/promises';
import type { WrittenEntries } from '../src/price-lists/lease';
import { ResolutionError, type ResolutionErrorCode } from '../src/price-lists/resolution-error';
import { escapeControls } from './escape';

/** A failed command, in words for the operator. */
export class CommandError extends Error {}

export function describeError(error: unknown): string {
  if (error instanceof ResolutionError) return describeResolutionError(error);
  return error instanceof Error ? error.message : String(error);
}

/** Tells an operator why a key was not resolved, and what to do about it. */
function describeResolutionError({ code, detail = 'unknown' }: ResolutionError): string {
  const texts: Record<ResolutionErrorCode, string> = {
    key_unknown: `No request was ever accepted for ${detail}.`,
    key_in_progress: 'Another attempt on the key is in progress. Wait for it.',
    key_released: 'The key was released: the client may send the request again.',
    key_resolved: 'The key was resolved meanwhile. Look at it again.',
    key_in_review_again: 'The key requires review again since it was read. Look at it first.',
    lists_ready: 'The lists are ready: there is nothing to release.',
    payload_unusable: `The payload cannot be used: ${detail}. This attempt can only be released; the client then has to send the request again.`,
  };
  return texts[code];
}

export const describeUnreadable = (path: string): string => `${path} cannot be read: it is left out.`;

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

  /** Draws a bar that grows while entries are written; without a terminal or entries, nothing. */
  drawProgress({ entries_written, entries_total }: WrittenEntries): void {
    const { stderr } = this.streams;
    if (stderr.isTTY !== true || entries_total === 0) return;
    const bar = '█'.repeat(Math.round((entries_written / entries_total) * BAR_WIDTH)).padEnd(BAR_WIDTH, '░');
    this.#isBarOpen = entries_written < entries_total;
    stderr.write(`\r  ${bar} ${entries_written} of ${entries_total} entries${this.#isBarOpen ? '' : '\n'}`);
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
