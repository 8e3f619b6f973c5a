import { onSchedule } from 'firebase-functions/v2/scheduler';
import { systemClock } from './lib/clock';
import { areWritesPaused } from './lib/config';
import { getErrorMessage, LoggableError } from './lib/errors';
import { getDatabase } from './lib/firestore/database';
import { runHandler, shutdown } from './lib/instance/shutdown';
import {
  logSweepEnded,
  logSweepFailed,
  logSweepPaused,
  logSweepResult,
  logUnreadableKey,
  MAX_UNREADABLE_LINES,
  type SweepCounts,
} from './lib/logging/sweep';
import { createWorkContext } from './lib/work-context';
import { LAST_RESUME_MS, sweepOptions } from './lib/runtime-options';
import { getTimeLimitMs } from './lib/time-limits';
import { sweep, type SweepReporter } from './price-lists/sweep';

const createReporter = (counts: SweepCounts): SweepReporter => ({
  onResult: (result, record) => {
    counts[result.result] += 1;
    logSweepResult(result, record);
  },
  onUnreadable: (path) => {
    counts.unreadable += 1;
    if (counts.unreadable <= MAX_UNREADABLE_LINES) logUnreadableKey(path);
  },
});

/**
 * Resumes attempts that failed for a transient cause or whose lease has expired, and reports keys that need an operator.
 * Cloud Scheduler starts a sweep every minute, unless a scheduled one is running. Sweeps can safely overlap, for example
 * with one that an operator starts. At its time limit, or when the instance stops, the sweep fails the attempts that it is resuming.
 */
export const sweepPriceLists = onSchedule({ ...sweepOptions, schedule: '* * * * *', retryCount: 0 }, () =>
  runHandler(runSweep),
);

/** Logs a failure instead of throwing it, because the next scheduled sweep does the same work. */
async function runSweep(): Promise<void> {
  if (areWritesPaused()) {
    logSweepPaused();
    return;
  }
  // Not a StoppedError, so the running attempts fail with the cause `timeout`.
  const createReason = () => new LoggableError('the time for the sweep is up');
  const timeLimitMs = getTimeLimitMs(sweepOptions, true);
  const { signal, cancel } = systemClock.createTimeout(timeLimitMs, createReason, shutdown.abortWrites.signal);
  const stopping = systemClock.createTimeout(LAST_RESUME_MS, createReason, shutdown.refuseWrites.signal);
  const context = createWorkContext(signal);
  const startedAt = context.clock.elapsedMs();
  const counts: SweepCounts = { resumed: 0, deferred: 0, left: 0, unreadable: 0 };
  try {
    await sweep(getDatabase(context), createReporter(counts), stopping.signal);
    const interrupted = signal.aborted || shutdown.refuseWrites.signal.aborted;
    const duration_ms = Math.round(context.clock.elapsedMs() - startedAt);
    logSweepEnded({ ...counts, duration_ms, interrupted });
  } catch (error) {
    logSweepFailed(getErrorMessage(error), counts);
  } finally {
    cancel();
    stopping.cancel();
  }
}
