import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Preloaded into a function's process: on SIGUSR2 it collects its garbage and writes its memory in bytes: what it then holds,
 * its resident set, and the peak of that since the last time (on Linux; elsewhere since the start).
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  const peakRss = readPeakRss();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ memory: heapUsed + external, rss, peakRss })}\n`);
  resetPeak();
});

/** Linux counts the process that started this one in `maxRSS`, so a large test runner would be taken for the function. */
function readPeakRss() {
  try {
    return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

function resetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // Not Linux.
  }
}
