import { StoppedError } from '../src/lib/errors';
import { runPriceLists } from './main';

/** Operators inspect and resolve keys with `npx price-lists`: see docs/runbook.md. */

const stop = new AbortController();
const abort = (cause: string) => stop.abort(new StoppedError(`stopped by ${cause}`));

// A closed output, as with `| head -1`, stops the command as Ctrl-C does.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    abort('a closed output');
  });
}

/**
 * Aborts the command at the first SIGINT, SIGTERM or SIGHUP. The command then gives its attempt back
 * at once. A second signal ends the process.
 */
function abortOnSignals(): AbortSignal {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => abort(name));
  return stop.signal;
}

// Node uses this exit code if it has nothing left to wait for before the command has a result.
process.exitCode = 1;

void runPriceLists(process.argv.slice(2), process, abortOnSignals).then((code) => {
  // Abandoned calls would keep the process alive, so it exits as soon as its output is written.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
