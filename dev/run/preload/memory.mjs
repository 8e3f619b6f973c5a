import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * This file is preloaded into a function's process. On SIGUSR2 the process collects garbage. Then it prints, in bytes, the sum of its
 * used heap and external memory, its resident set, and the peak of that set. On Linux the peak counts from the previous signal if
 * there was one, otherwise from the start.
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

/** Reads /proc on Linux, where `maxRSS` includes the process that started this one, such as a large test runner. */
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
    // Only Linux has this file.
  }
}
