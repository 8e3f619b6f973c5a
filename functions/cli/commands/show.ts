import { retry } from '../../src/lib/firestore/retry';
import { ResolutionError } from '../../src/price-lists/resume';
import { readStoredPayload, type StoredPayload } from '../../src/price-lists/payload';
import { isLeaseHeld } from '../../src/price-lists/key-state-machine';
import { readKeyDetails, toPayloadText } from '../facts';
import { formatCommand, formatKeyDetails } from '../format';
import { writeNewFile } from '../new-file';
import { count, escapeJsonControls, quote } from '../text';
import { findKey, toJson, type CommandContext, type IdOptions } from './context';

export interface ShowOptions extends IdOptions {
  payload?: string;
  json?: true;
}

export async function show(id: string, options: ShowOptions, context: CommandContext): Promise<number> {
  const { payload: file, json } = options;
  const { terminal, db, requestContext } = context;
  const { record, readAt } = await findKey(id, options, context);
  const payload = await retry(() => readStoredPayload(db, record), requestContext, 'standalone');
  if (file !== undefined) {
    await writePayload(payload, file, context);
    return 0;
  }
  const details = await retry(() => readKeyDetails(record, payload, db), requestContext, 'standalone');
  if (json === true) {
    terminal.print(toJson(details));
    return 0;
  }
  terminal.print(formatKeyDetails(details, readAt));
  if (record.status === 'completed' || record.status === 'released' || isLeaseHeld(record, readAt)) return 0;
  const next = payload.kind === 'valid' ? 'resume' : `release --reason '…'`;
  terminal.print(`\nNext: ${formatCommand(next, record.boq_list_id, context.targetOptions)}\n`);
  return 0;
}

async function writePayload(payload: StoredPayload, file: string, { terminal }: CommandContext): Promise<void> {
  if (payload.kind === 'invalid') throw new ResolutionError('payload_unusable', payload.reason);
  const { stdout } = terminal.streams;
  const text = toPayloadText(payload.submission);
  if (file !== '-') {
    await writeNewFile(file, [text]);
    terminal.print(`Wrote the accepted payload, ${count(Buffer.byteLength(text), 'byte')}, to ${quote(file)}.\n`);
  } else if (stdout.isTTY === true) terminal.print(`${escapeJsonControls(text)}\n`);
  else stdout.write(text);
}
