import { retry } from '../../src/lib/firestore/retry';
import type { FoundKeyRecord } from '../../audit/stored-records';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { ResolutionError, resume } from '../../src/price-lists/resume';
import { readStoredPayload } from '../../src/price-lists/payload';
import { describeError } from '../errors';
import { count, escapeJsonControls, quoteId } from '../text';
import {
  assertActionAllowed,
  findKey,
  getOperatorName,
  toJsonLine,
  type CommandContext,
  type IdOptions,
} from './context';

export interface ResumeOptions extends IdOptions {
  reason?: string;
  by?: string;
  yes?: true;
  json?: true;
}

/** The result for one of the given ids. */
interface ResumeResult {
  /** The key; the id from the arguments if no key matches it. */
  boq_list_id: string;
  /** `completed`: the key was completed before this command. */
  result: 'resumed' | 'completed' | 'failed';
  reason: string | null;
  response: string | null;
}

/** Resumes keys one after another. If one cannot be resumed, the others still are. */
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
      if (context.requestContext.signal.aborted) throw error;
      failures += 1;
      report({ boq_list_id: id, result: 'failed', reason: describeError(error), response: null });
    }
  };

  const pending: KeyRecord[] = [];
  for (const id of ids) {
    await attempt(id, async () => {
      const found = await findKey(id, options, context);
      const { record } = found;
      const { boq_list_id, response } = record;
      if (response !== null) report({ boq_list_id, result: 'completed', reason: null, response });
      else {
        await assertResumable(found, context);
        pending.push(record);
      }
    });
  }
  if (pending.length > 0) await confirmResume(pending, options, context);
  for (const record of pending) {
    const { boq_list_id } = record;
    await attempt(boq_list_id, async () => {
      const response = await resumeKey(record, options, context);
      report({ boq_list_id, result: 'resumed', reason: null, response });
    });
  }
  return failures === 0 ? 0 : 1;
}

async function assertResumable(found: FoundKeyRecord, context: CommandContext): Promise<void> {
  const { record } = found;
  if (record.status === 'released') throw new ResolutionError('key_released');
  assertActionAllowed(found);
  const payload = await retry(() => readStoredPayload(context.db, record), context.requestContext, 'standalone');
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
}

async function confirmResume(
  records: readonly KeyRecord[],
  { yes }: ResumeOptions,
  { terminal, requestContext }: CommandContext,
) {
  if (yes === true) return;
  const keys = records.map(({ boq_list_id }) => quoteId(boq_list_id)).join(', ');
  const products = records.reduce(
    (sum, { creation, products_count }) => sum + (creation === null ? 0 : products_count),
    0,
  );
  const lists =
    products === 0
      ? 'There are no lists, because no market matched.'
      : `The missing entries of ${count(products, 'product')} are written, and the lists become ready.`;
  await terminal.confirm(
    `This resumes ${keys}. ${lists} The response is stored for the client.`,
    requestContext.signal,
  );
}

function resumeKey(record: KeyRecord, options: ResumeOptions, context: CommandContext): Promise<string> {
  const { terminal, db, requestContext } = context;
  const decision = { by: getOperatorName(options), reason: options.reason ?? null };
  const unit = `entries of ${quoteId(record.boq_list_id)}`;
  return resume(record, decision, db, requestContext, ({ entries_written, entries_total }) =>
    terminal.drawProgress(entries_written, entries_total, unit),
  );
}

/** Prints one line for each id. */
function printResult(result: ResumeResult, { json }: ResumeOptions, { terminal }: CommandContext): void {
  const { boq_list_id, response, reason } = result;
  if (json === true) {
    terminal.print(toJsonLine({ ...result, response: response === null ? null : (JSON.parse(response) as object) }));
  } else if (response === null) {
    terminal.printError(`${quoteId(boq_list_id)}: ${reason}\n`);
  } else {
    terminal.print(`${quoteId(boq_list_id)}: ${result.result}. The client gets: ${escapeJsonControls(response)}\n`);
  }
}
