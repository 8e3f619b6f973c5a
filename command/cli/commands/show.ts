import type { StoredPayload } from '../../audit/attempt';
import { readPayload } from '../../audit/attempt-reader';
import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import { UnusablePayloadError } from '../../../functions/src/price-lists/payload';
import { CommandError, describeUnusable } from '../errors';
import { readKeyDetails, toPayloadText } from '../facts';
import { formatKeyDetails, formatNext } from '../format';
import { writeNewFile } from '../new-file';
import { count, escapeJsonControls, quote } from '../text';
import { writePrices } from './prices';
import { DocumentError, findKey, toJson, type CommandContext } from './context';

export interface ShowOptions {
  payload?: string;
  prices?: string;
  json?: true;
}

export async function show(id: string, options: ShowOptions, context: CommandContext): Promise<number> {
  const { payload: file, prices, json } = options;
  const { terminal } = context;
  const found = await findKey(id, context).catch((error: unknown) => showDocuments(error, options, context));
  if (found === undefined) return 0;
  const { key, requests } = found;
  if (prices !== undefined) {
    await writePrices(key.record, prices, context);
    return 0;
  }
  const payload = await readPayload(key.record, context.db, context.workContext);
  if (file !== undefined) {
    await writePayload(key.record, payload, file, context);
    return 0;
  }
  const details = await readKeyDetails(key, payload, requests, context);
  if (json === true) terminal.print(toJson(details));
  else terminal.print(`${formatKeyDetails(details, key.readAt)}\n${formatNext(details, context.targetOptions)}`);
  return 0;
}

/**
 * Prints the documents that an id leads to if it leads to no readable key.
 *
 * @throws `error` if there are no such documents, or if the payload or the prices are requested
 */
function showDocuments(error: unknown, { payload, prices }: ShowOptions, { terminal }: CommandContext): undefined {
  // Without a readable key, neither a payload nor prices can be read.
  if (!(error instanceof DocumentError) || payload !== undefined || prices !== undefined) throw error;
  for (const each of error.documents) terminal.print(toJson({ path: each.ref.path, fields: each.data() }));
  terminal.printError(`${error.message}\n`);
}

async function writePayload(
  { status }: KeyRecord,
  payload: StoredPayload,
  file: string,
  { terminal }: CommandContext,
): Promise<void> {
  if (payload instanceof UnusablePayloadError) {
    // A completed or released attempt no longer needs its payload, which may have been deleted (docs/data-model.md#retention). So
    // the message does not tell the operator to release the key.
    const isSettled = status === 'completed' || status === 'released';
    throw isSettled ? new CommandError(describeUnusable(payload)) : payload;
  }
  const { stdout } = terminal.streams;
  const text = toPayloadText(payload);
  if (file !== '-') {
    await writeNewFile(file, [text]);
    terminal.print(`Wrote the accepted payload, ${count(Buffer.byteLength(text), 'byte')}, to ${quote(file)}.\n`);
  } else if (stdout.isTTY === true) terminal.print(`${escapeJsonControls(text)}\n`);
  else stdout.write(text);
}
