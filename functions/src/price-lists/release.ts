import type { Database } from '../lib/firestore/database';
import type { RequestContext } from '../lib/request-context';
import type { KeyRecord } from '../lib/schemas/key-record';
import { applyEvent } from './apply-event';
import type { OperatorDecision } from './key-state-machine';
import { ResolutionError } from './resolution-error';
import { toResolutionError } from './resume';

/**
 * Gives up an attempt: its lists stay failed, and the next request for its key is a new attempt. May be repeated.
 *
 * @throws ResolutionError
 */
export async function release(
  record: KeyRecord,
  decision: OperatorDecision,
  db: Database,
  context: RequestContext,
): Promise<void> {
  const { boq_list_id, document_id } = record;
  const outcome = await applyEvent(boq_list_id, { kind: 'released', document_id, ...decision }, db, context);
  if (outcome.kind === 'completed') throw new ResolutionError('lists_ready');
  if (outcome.kind !== 'available') throw toResolutionError(outcome);
}
