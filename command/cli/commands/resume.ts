import { selectKeys, UNRESOLVED_STATUSES } from '../../records/find';
import type { FailureCause, KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import { settleLease } from '../../../functions/src/price-lists/key';
import { ResolutionError, resume } from '../resolve';
import { describeError, describeUnreadable } from '../errors';
import { count, escapeControls, escapeJsonControls, quoteId } from '../text';
import { readKeys } from './list';
import { assertActionAllowed, findKey, getOperatorName, toJsonLine, type CommandContext } from './context';

export interface ResumeOptions {
  /** Resumes all keys whose attempt failed for this cause, instead of named ones. An expired lease counts as a failure. */
  cause?: FailureCause;
  dryRun?: true;
  reason?: string;
  by?: string;
  yes?: true;
  json?: true;
}

/** The result for one of the given ids, or for a key that `--cause` finds. */
interface ResumeResult {
  /** The key; if an id fails before its resume begins, that id as it was given. */
  boq_list_id: string;
  /** `completed`: the key was already completed, or another process completed it during this resume. */
  result: 'resumed' | 'would_resume' | 'completed' | 'failed';
  reason: string | null;
  response: string | null;
}

/** Resumes keys one after another. If one cannot be resumed, continues with the next, unless the command has to stop. */
export async function resumeKeys(
  ids: readonly string[],
  options: ResumeOptions,
  context: CommandContext,
): Promise<number> {
  let failures = 0;
  const report = (result: ResumeResult) => printResult(result, options, context);
  const attempt = async (id: string, fn: () => Promise<void>): Promise<void> => {
    try {
      await fn();
    } catch (error) {
      if (context.workContext.signal.aborted) throw error;
      failures += 1;
      report({ boq_list_id: id, result: 'failed', reason: describeError(error), response: null });
    }
  };

  const pending = options.cause === undefined ? [] : await findFailed(options.cause, context);
  for (const id of ids) {
    await attempt(id, async () => {
      const { key } = await findKey(id, context);
      const { boq_list_id, status, response } = key.record;
      if (status === 'completed' && response !== null)
        report({ boq_list_id, result: 'completed', reason: null, response });
      else {
        if (status === 'released') throw new ResolutionError('key_released');
        assertActionAllowed(key);
        const isRepeated = pending.some((other) => other.boq_list_id === boq_list_id);
        if (!isRepeated) pending.push(settleLease(key.record, key.readAt));
      }
    });
  }
  if (options.dryRun === true) {
    for (const { boq_list_id, failure } of pending)
      report({ boq_list_id, result: 'would_resume', reason: failure, response: null });
    context.terminal.printError(`${count(pending.length, 'key')} would be resumed.\n`);
    return failures === 0 ? 0 : 1;
  }
  if (pending.length > 0) await confirmResume(pending, options, context);
  else if (options.cause !== undefined)
    context.terminal.printError(`No key requires review for the cause ${options.cause}.\n`);
  const decision = { by: getOperatorName(options), reason: options.reason ?? null };
  for (const record of pending) {
    const { boq_list_id, products_count } = record;
    context.terminal.printError(`Resuming ${quoteId(boq_list_id)}: ${count(products_count, 'product')} …\n`);
    await attempt(boq_list_id, async () => {
      const { response, isOwn } = await resume(record, decision, context.db);
      report({ boq_list_id, result: isOwn ? 'resumed' : 'completed', reason: null, response });
    });
  }
  return failures === 0 ? 0 : 1;
}

/** Finds the keys whose attempt failed for a cause, oldest failure first. */
async function findFailed(cause: FailureCause, context: CommandContext): Promise<KeyRecord[]> {
  const { keys, unreadable } = await readKeys(selectKeys(context.db, UNRESOLVED_STATUSES), context);
  for (const path of unreadable) context.terminal.printError(`${describeUnreadable(path)}\n`);
  const records = keys.map(({ record, readAt }) => settleLease(record, readAt));
  const failed = records.filter(({ status, failure_cause }) => status === 'requires_review' && failure_cause === cause);
  return failed.sort((a, b) => a.updated_at - b.updated_at);
}

/** Maximum number of keys that the question names. */
const MAX_NAMED = 10;

async function confirmResume(
  records: readonly KeyRecord[],
  { yes }: ResumeOptions,
  { terminal, workContext }: CommandContext,
) {
  if (yes === true) return;
  const named = records.slice(0, MAX_NAMED).map(({ boq_list_id }) => quoteId(boq_list_id));
  const more = records.length > MAX_NAMED ? `${count(records.length, 'key')}, such as ` : '';
  const keys = `${more}${named.join(', ')}`;
  const products = count(
    records.reduce((sum, { products_count }) => sum + products_count, 0),
    'product',
  );
  const effect = `The entries of ${products} are written, and the lists become ready.`;
  await terminal.confirm(`This resumes ${keys}. ${effect} The response is stored for the client.`, workContext.signal);
}

function printResult(result: ResumeResult, { json }: ResumeOptions, { terminal }: CommandContext): void {
  const { boq_list_id, response, reason } = result;
  if (json === true) {
    terminal.print(toJsonLine({ ...result, response: response === null ? null : (JSON.parse(response) as object) }));
  } else if (result.result === 'would_resume') {
    terminal.print(
      `${quoteId(boq_list_id)}: would be resumed. Its attempt failed: ${escapeControls(reason ?? 'unknown')}\n`,
    );
  } else if (response === null) {
    terminal.printError(`${quoteId(boq_list_id)}: ${reason}\n`);
  } else {
    const what = result.result === 'completed' ? 'is already completed' : 'resumed';
    terminal.print(`${quoteId(boq_list_id)}: ${what}. The client gets: ${escapeJsonControls(response)}\n`);
  }
}
