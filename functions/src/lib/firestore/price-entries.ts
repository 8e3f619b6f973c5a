import { status } from '@grpc/grpc-js';
import { getConnection } from './connection';
import { Entry } from './generated/entry';
import { Request } from './generated/request';
import { toDocumentId } from './messages';

export interface PriceEntryBatch {
  /** Path of the collection. */
  collection: string;
  /** Name of the field that holds the price. */
  field: string;
  ids: readonly string[];
  /** `prices[i]` is the price of `ids[i]`, finite and not negative. */
  prices: Float64Array;
}

/**
 * Replaces all entries of the batch, or none, in one call that is not retried.
 *
 * @throws gRPC error; `DEADLINE_EXCEEDED` after `timeoutMs`; `UNKNOWN` for a reply without a result for each write
 */
export async function commitPriceEntries(
  { collection, field, ids, prices }: PriceEntryBatch,
  timeoutMs: number,
): Promise<void> {
  const { client, databasePath, documentsPath, prepareCall } = await getConnection();
  const writes = ids.map((id, i): Request.IWrite => {
    const price = prices[i] ?? NaN;
    const name = `${documentsPath}/${collection}/${id}`;
    // Stores numbers as the SDK does: safe integers as integers, all others as doubles.
    return {
      update: {
        name,
        fields: { [field]: Number.isSafeInteger(price) ? { integerValue: price } : { doubleValue: price } },
      },
    };
  });
  // protobufjs returns a Buffer in Node.js.
  const request = Request.CommitRequest.encode({ database: databasePath, writes }).finish();
  const call = prepareCall('Commit', ['database', databasePath], request as Buffer, timeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  client.makeUnaryRequest(...call, (error, reply) => (error ? reject(error) : resolve(reply)));
  const results = countWriteResults((await promise) ?? Buffer.alloc(0));
  if (results === ids.length) return;
  const message = `2 UNKNOWN: ${results ?? 'no readable'} write results for ${ids.length} writes`;
  throw Object.assign(new Error(message), { code: status.UNKNOWN });
}

/** Returns undefined for bytes that are not the response of a commit. */
function countWriteResults(response: Buffer): number | undefined {
  try {
    return Entry.CommitResponse.decode(response).writeResults.length;
  } catch {
    return undefined;
  }
}

/**
 * Decodes one number of the document in a response to a query, such as the price of an entry.
 *
 * @returns the document id and the number, which is undefined if it is missing or not a number;
 * undefined for a response without a document
 */
export function decodeNumber(response: Buffer, field: string): [id: string, number: number | undefined] | undefined {
  const { document } = Entry.RunQueryResponse.decode(response);
  if (!document) return undefined;
  const { doubleValue, integerValue } = document.fields?.[field] ?? {};
  // protobufjs decodes a 64-bit integer as a Long if that package is installed.
  const number = doubleValue ?? (typeof integerValue === 'object' ? integerValue?.toNumber() : integerValue);
  return [toDocumentId(document.name), number];
}
