import { logEvent, redact } from './event';

/** Logs a key record that does not parse. @param record its path, which contains the key's hash */
export const logUnreadableKey = (record: string) => logEvent('ERROR', 'key_record_unreadable', { record });

export interface SweepCounts {
  resumed: number;
  deferred: number;
  left: number;
  unreadable: number;
}

/**
 * @param entry `requires_review`: the number of keys in review; undefined if they could not be counted. A
 * sweep that was `interrupted`, because the instance stopped or its time was up, does not count them.
 */
export const logSweepEnded = (
  entry: SweepCounts & { requires_review: number | undefined; duration_ms: number; interrupted: boolean },
) => logEvent('INFO', 'sweep_ended', entry);

export const logSweepPaused = () => logEvent('NOTICE', 'sweep_paused', {});

/** @param counts what the sweep did in spite of the failure */
export const logSweepFailed = (reason: string, counts: SweepCounts) =>
  logEvent('ERROR', 'sweep_failed', { reason: redact(reason), ...counts });
