import { StoppedError } from '../src/lib/errors';
import { runPriceLists } from './main';

/** `npx price-lists`: what an operator sees and does of keys; see docs/runbook.md. */

const stop = new AbortController();
const abort = (cause: string) => stop.abort(new StoppedError(`stopped by ${cause}`));

// Nobody reads on, such as `head -1`: the same as Ctrl-C.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    abort('a closed output');
  });
}

/**
 * Aborts at the first signal that ends a command, also that of a lost terminal, so that an attempt
 * that was taken over is given back at once. The second signal ends the process.
 */
function abortOnSignals(): AbortSignal {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => abort(name));
  return stop.signal;
}

// Holds if the event loop has nothing left to wait for before the command has ended.
process.exitCode = 1;

void runPriceLists(process.argv.slice(2), process, abortOnSignals, process.env).then((code) => {
  // Streams that were given up keep the process alive; output to a pipe is written out first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
