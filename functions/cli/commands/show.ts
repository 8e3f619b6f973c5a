import { retry } from '../../src/lib/firestore/retry';
import { ResolutionError } from '../../src/price-lists/resume';
import { readStoredPayload, type StoredPayload } from '../../src/price-lists/payload';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { CommandError } from '../errors';
import { isLeaseHeld } from '../../src/price-lists/key-state-machine';
import { readKeyDetails, toPayloadText } from '../facts';
import { formatCommand, formatKeyDetails } from '../format';
import { writeNewFile } from '../new-file';
import { count, escapeJsonControls, quote } from '../text';
import { writePrices } from './prices';
import { findKey, toJson, UnknownKeyError, type CommandContext, type IdOptions } from './context';

export interface ShowOptions extends IdOptions {
  payload?: string;
  prices?: string;
  json?: true;
}

export async function show(id: string, options: ShowOptions, context: CommandContext): Promise<number> {
  const { payload: file, prices, json } = options;
  const { terminal, db, workContext } = context;
  const found = await findKey(id, options, context).catch((error: unknown) => showOrphans(error, options, context));
  if (found === undefined) return 0;
  const { record, readAt } = found;
  if (prices !== undefined) {
    await writePrices(record, prices, context);
    return 0;
  }
  const payload = await retry(() => readStoredPayload(db, record), workContext, 'outage');
  if (file !== undefined) {
    await writePayload(record, payload, file, context);
    return 0;
  }
  const details = await retry(() => readKeyDetails(record, payload, db), workContext, 'outage');
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

/** Prints the documents that have the id but belong to no key. @throws `error` if there are none, or a file is requested */
function showOrphans(error: unknown, { payload, prices }: ShowOptions, { terminal }: CommandContext): undefined {
  if (!(error instanceof UnknownKeyError) || error.documents.length === 0) throw error;
  // Without a key, neither a payload nor prices can be read.
  if (payload !== undefined || prices !== undefined) throw error;
  for (const each of error.documents) terminal.print(toJson({ path: each.ref.path, fields: each.data() }));
  terminal.printError(`${error.message}\n`);
}

async function writePayload(
  { status }: KeyRecord,
  payload: StoredPayload,
  file: string,
  { terminal }: CommandContext,
): Promise<void> {
  if (payload.kind === 'invalid') {
    // A settled attempt no longer needs its payload, which can have been deleted (docs/data-model.md#retention).
    if (status === 'completed' || status === 'released')
      throw new CommandError(`The stored payload cannot be used: ${payload.reason}.`);
    throw new ResolutionError('payload_unusable', payload.reason);
  }
  const { stdout } = terminal.streams;
  const text = toPayloadText(payload.submission);
  if (file !== '-') {
    await writeNewFile(file, [text]);
    terminal.print(`Wrote the accepted payload, ${count(Buffer.byteLength(text), 'byte')}, to ${quote(file)}.\n`);
  } else if (stdout.isTTY === true) terminal.print(`${escapeJsonControls(text)}\n`);
  else stdout.write(text);
}
