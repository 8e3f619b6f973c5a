import { release, ResolutionError } from '../resolve';
import { quoteId } from '../text';
import { assertActionAllowed, findKey, getOperatorName, toJson, type CommandContext } from './context';
import type { ResumeOptions } from './resume';

export interface ReleaseOptions extends ResumeOptions {
  reason: string;
}

export async function releaseKey(id: string, options: ReleaseOptions, context: CommandContext): Promise<number> {
  const { terminal, db, workContext } = context;
  const { key } = await findKey(id, context);
  const { boq_list_id, status, lists } = key.record;
  if (status === 'completed' && lists !== null) throw new ResolutionError('lists_ready');
  if (status !== 'released') {
    assertActionAllowed(key);
    const effect =
      lists === null ? 'It has no lists, because no market matched.' : 'Afterwards, its lists have the status failed.';
    const question =
      `This releases ${quoteId(boq_list_id)}. ${effect} ` +
      'The next request for this key starts a new attempt, with any payload. No record is deleted.';
    if (options.yes !== true) await terminal.confirm(question, workContext.signal);
    await release(key.record, { by: getOperatorName(options), reason: options.reason }, db);
  }
  if (options.json === true) terminal.print(toJson({ released: boq_list_id }));
  else {
    const is = status === 'released' ? 'was already released' : 'is released';
    terminal.print(`${quoteId(boq_list_id)} ${is}. The client can send the request again.\n`);
  }
  return 0;
}
