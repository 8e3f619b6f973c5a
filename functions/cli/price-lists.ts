import { StoppedError } from '../src/lib/errors';
import { runPriceLists } from './main';

/** Operators inspect and resolve keys with `npx price-lists`: see docs/runbook.md. */

const stop = new AbortController();
const abort = (cause: string) => stop.abort(new StoppedError(`stopped by ${cause}`));

// A closed output, as after `| head -1`, ends the command as Ctrl-C does.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    abort('a closed output');
  });
}

/**
 * Aborts the command at the first signal that ends a process, including the loss of the terminal.
 * The command then gives back its attempt at once. The second signal ends the process.
 */
function abortOnSignals(): AbortSignal {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => abort(name));
  return stop.signal;
}

// This exit code applies if the event loop runs empty before the command has ended.
process.exitCode = 1;

void runPriceLists(process.argv.slice(2), process, abortOnSignals, process.env).then((code) => {
  // Abandoned streams would keep the process alive. Output to a pipe is written first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
