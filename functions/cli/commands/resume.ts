import { retry } from '../../src/lib/firestore/retry';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { ResolutionError } from '../../src/price-lists/resolution-error';
import { requireKeyRecord, resume } from '../../src/price-lists/resume';
import { readStoredPayload } from '../../src/price-lists/stored-payload';
import type { ResumeOptions } from '../arguments';
import { describeError } from '../errors';
import { escapeJsonControls, quote } from '../escape';
import { assertNotInProgress, getOperatorName, type CommandContext } from './context';

/** Resumes keys one after another. With several keys, one that cannot be resumed does not stop the others. */
export async function resumeKeys(
  keys: readonly string[],
  options: ResumeOptions,
  context: CommandContext,
): Promise<number> {
  let failures = 0;
  const attempt = async <T>(key: string, fn: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await fn();
    } catch (error) {
      if (keys.length === 1 || context.requestContext.signal.aborted) throw error;
      failures += 1;
      context.terminal.printError(`${quote(key)}: ${describeError(error)}\n`);
      return undefined;
    }
  };
  const records: KeyRecord[] = [];
  for (const key of keys) {
    const record = await attempt(key, () => requireResumable(key, context));
    if (record !== undefined) records.push(record);
  }
  if (records.length > 0) await confirmResume(records, options, context);
  for (const record of records) {
    const response = await attempt(record.boq_list_id, () => resumeKey(record, options, context));
    if (response !== undefined) printResponse(record, response, keys.length > 1, options, context);
  }
  return failures === 0 ? 0 : 1;
}

async function requireResumable(key: string, context: CommandContext): Promise<KeyRecord> {
  const { db, requestContext } = context;
  const record = await requireKeyRecord(key, db, requestContext);
  assertNotInProgress(record, context);
  const payload = await retry(() => readStoredPayload(db, record), requestContext);
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  return record;
}

async function confirmResume(
  records: readonly KeyRecord[],
  { yes }: ResumeOptions,
  { terminal, requestContext }: CommandContext,
) {
  if (yes === true) return;
  const keys = records.map(({ boq_list_id }) => quote(boq_list_id)).join(', ');
  const products = records.reduce((sum, { products_count }) => sum + products_count, 0);
  await terminal.confirm(
    `Resume ${keys}: write the missing entries of ${products} products into both lists, make the lists ready, ` +
      'and store the response for the client.',
    requestContext.signal,
  );
}

function resumeKey(record: KeyRecord, options: ResumeOptions, context: CommandContext): Promise<string> {
  const { terminal, db, requestContext } = context;
  const decision = { by: getOperatorName(options), reason: options.reason ?? null, maxResumes: null };
  const unit = `entries of ${quote(record.boq_list_id)}`;
  return resume(record, decision, db, requestContext, {
    onProgress: ({ entries_written, entries_total }) => terminal.drawProgress(entries_written, entries_total, unit),
  });
}

/** Prints one line for each of several keys; for one, its response stands out. */
function printResponse(
  { boq_list_id }: KeyRecord,
  response: string,
  isOneOfSeveral: boolean,
  { json }: ResumeOptions,
  { terminal }: CommandContext,
): void {
  const text = escapeJsonControls(response);
  if (json === true) terminal.print(`${text}\n`);
  else if (isOneOfSeveral) terminal.print(`${quote(boq_list_id)}: ready. From now on the client gets: ${text}\n`);
  else terminal.print(`${quote(boq_list_id)} is ready. From now on the client gets:\n\n  ${text}\n`);
}
