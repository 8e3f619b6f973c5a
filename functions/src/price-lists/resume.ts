import { retry } from '../lib/firestore/retry';
import type { KeyRecord } from '../lib/schemas/key-record';
import { Attempt, runAttempt } from './attempt';
import type { OperatorDecision } from './key';
import { applyEvent, type KeyStore } from './key-store';

/**
 * Takes over an attempt that has failed or whose lease has expired. Reads its payload, writes all entries again,
 * and completes it. An error after the take-over, even while the payload is read, fails the attempt.
 *
 * @param operator who resumes it; null for the sweep
 * @returns as `runAttempt` does, or the outcome of the resume if it could not take over the attempt. @throws as `retry` does
 */
export async function takeOver(
  record: KeyRecord,
  operator: OperatorDecision | null,
  key: KeyStore,
): ReturnType<typeof runAttempt> {
  const { document_id, fingerprint } = record;
  const attempt = { document_id, fingerprint, owner: key.db.context.newToken() };
  const taken = await retry(() => applyEvent(key, { kind: 'resume', attempt, operator }), key.db.context, 'outage');
  if (taken.kind !== 'owned') return { outcome: taken };
  return runAttempt(new Attempt(taken, key, 'outage'));
}
