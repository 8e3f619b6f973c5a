import { StoppedError } from '../src/lib/errors';
import { runPriceLists } from './main';

/** `npm run price-lists`: what an operator sees and does of the keys of add price lists; see docs/runbook.md. */

/**
 * Aborts at the first signal that ends a command, also that of a lost terminal, so that an attempt that was taken over
 * is given back at once. The second signal ends the process.
 */
function abortOnSignals(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () =>
      stop.abort(new StoppedError(`stopped by ${name}; what was written stays, and a resume continues from there`)),
    );
  }
  return stop.signal;
}

void runPriceLists(process.argv.slice(2), process, abortOnSignals).then((code) => {
  // Streams that were given up keep the process alive; output to a pipe is written out first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
