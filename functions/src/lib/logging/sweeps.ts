import { logEvent, redact } from './event';

/** A key record that does not parse. @param record its path, which contains the key's hash */
export const logUnreadableKey = (record: string) => logEvent('ERROR', 'key_record_unreadable', { record });

/**
 * @param entry `requires_review`: the number of keys that do. A sweep that was `interrupted`, because
 * the instance stopped or its time was up, does not count them.
 */
export const logSweepEnded = (entry: {
  resumed: number;
  deferred: number;
  left: number;
  requires_review: number | undefined;
  duration_ms: number;
  interrupted: boolean;
}) => logEvent('INFO', 'sweep_ended', entry);

export const logSweepFailed = (reason: string) => logEvent('ERROR', 'sweep_failed', { reason: redact(reason) });
