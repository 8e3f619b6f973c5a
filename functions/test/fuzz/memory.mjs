import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Preloaded into a function's process: on SIGUSR2 it collects its garbage and writes what memory it then holds. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ memory: heapUsed + external })}\n`);
});
