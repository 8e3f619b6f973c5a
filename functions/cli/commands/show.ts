import { writeFileSync } from 'node:fs';
import { retry } from '../../src/lib/firestore/retry';
import { findAttemptDocuments, findKeyRecords } from '../../src/lib/repositories/stored-price-lists';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { ResolutionError } from '../../src/price-lists/resolution-error';
import { readStoredPayload, type StoredPayload } from '../../src/price-lists/stored-payload';
import type { ShowOptions } from '../arguments';
import { CommandError } from '../errors';
import { escapeJsonControls, quote } from '../escape';
import { formatCommand, formatKeyDetails, getKeyDetails, isInProgress } from '../format';
import { toJson, type CommandContext } from './context';

export async function show(id: string, options: ShowOptions, context: CommandContext): Promise<number> {
  const { db, requestContext } = context;
  const records = await retry(() => findKeyRecords(db, id), requestContext);
  if (records.length === 0) throw new CommandError(await describeUnknown(id, context));
  for (const record of records) await showKey(record, options, context);
  return 0;
}

async function describeUnknown(id: string, { db, requestContext }: CommandContext): Promise<string> {
  const paths = await retry(() => findAttemptDocuments(db, id), requestContext);
  if (paths.length === 0) return `No request was ever accepted for ${quote(id)}.`;
  return `No key refers to ${paths.join(' and ')}, though it exists.`;
}

async function showKey(record: KeyRecord, { payload: file, json }: ShowOptions, context: CommandContext) {
  const { terminal, db, requestContext } = context;
  const payload = await retry(() => readStoredPayload(db, record), requestContext);
  if (file !== undefined) {
    writePayload(payload, file, context);
    return;
  }
  const details = await getKeyDetails(record, payload, db);
  if (json === true) {
    terminal.print(toJson(details));
    return;
  }
  const now = requestContext.clock.now();
  terminal.print(formatKeyDetails(details, now));
  if (record.status === 'completed' || record.status === 'released' || isInProgress(record, now)) return;
  const next = payload.kind === 'valid' ? 'resume' : 'release';
  const reason = next === 'release' ? ` --reason '…'` : '';
  terminal.print(`\nNext: ${formatCommand(next, record.boq_list_id, context.project)}${reason}\n`);
}

function writePayload(payload: StoredPayload, file: string, { terminal }: CommandContext): void {
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  const { stdout } = terminal.streams;
  if (file !== '-') {
    writeFileSync(file, payload.text);
    terminal.print(`The accepted payload, ${payload.text.length} bytes, is in ${file}.\n`);
  } else if (stdout.isTTY === true) terminal.print(escapeJsonControls(payload.text.toString()));
  else stdout.write(payload.text);
}
