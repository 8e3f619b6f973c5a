import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { StoppedError } from '../../functions/src/lib/errors';
import { OutputError } from './errors';
import { runPriceLists } from './main';

/** Operators inspect and resolve keys with `npx --no -- price-lists`: see docs/runbook.md. */

// Process warnings do not help an operator. For example, Google's library emits one if it finds no metadata server.
process.removeAllListeners('warning');

const stop = new AbortController();

/** The first error of an output. If there is one, the exit code is 1, because a part of the output is lost. */
let outputError: NodeJS.ErrnoException | undefined;

/** Stops the command as Ctrl-C does. An output fails if its disk is full, for example, or if `| head -1` closes it. */
function failOutput(error: NodeJS.ErrnoException): void {
  outputError ??= error;
  stop.abort(new OutputError());
}

/** Returns the stream of an output. For a file, replaces Node's stream, which does not notice if a full disk cuts a write short. */
function openOutput(fd: number, stream: NodeJS.WriteStream): NodeJS.WritableStream {
  if (stream instanceof Socket) return stream.on('error', failOutput);
  const file = new Writable({
    write: (data: Buffer, _, end) => {
      try {
        for (let start = 0; start < data.length;) start += writeSync(fd, data, start);
        end();
      } catch (error) {
        end(error as Error);
      }
    },
  });
  return file.on('error', failOutput);
}

const [stdout, stderr] = [openOutput(1, process.stdout), openOutput(2, process.stderr)];

/**
 * Returns an `AbortSignal` that aborts at the first SIGINT, SIGTERM or SIGHUP. If a resume is in progress, the command then fails
 * its attempt, so that the sweep can resume the attempt. The same signal again ends the process.
 */
function abortOnSignals(): AbortSignal {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => stop.abort(new StoppedError(`Stopped by ${name}`)));
  return stop.signal;
}

const result = runPriceLists(process.argv.slice(2), { stdin: process.stdin, stdout, stderr }, abortOnSignals);

// Node uses this exit code if it has nothing left to wait for before the command has a result. The code is set after
// the arguments are parsed, because commander would use it as the exit code of its help.
process.exitCode = 1;

void result.then((code) => {
  // Abandoned calls would keep the process alive, so it exits as soon as its output is written.
  stdout.write('', (error) => {
    // The error of an earlier write can arrive here before its event.
    if (error) failOutput(error);
    const isSilent = outputError === undefined || outputError.code === 'EPIPE';
    const notice = isSilent ? '' : `The output could not be written: ${outputError?.message}\n`;
    stderr.write(notice, () => process.exit(outputError === undefined ? code : 1));
  });
});
