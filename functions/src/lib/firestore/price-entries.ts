import { getConnection } from './connection';
import { Entry } from './generated/entry';
import { Request } from './generated/request';
import { toDocumentId } from './messages';
import { runOutsideDomain } from './node-domain';

/** Entries of one list that one commit writes. */
export interface PriceEntryBatch {
  /** Path of the collection. */
  collection: string;
  /** Holds the price. */
  field: string;
  ids: readonly string[];
  /** In the order of the ids: finite and non-negative. */
  prices: Float64Array;
}

/**
 * Replaces the entries, all of them or none, in one try of one call.
 *
 * @throws gRPC error; `DEADLINE_EXCEEDED` after `timeoutMs`
 */
export async function commitPriceEntries(
  { collection, field, ids, prices }: PriceEntryBatch,
  timeoutMs: number,
): Promise<void> {
  const { client, databasePath, documentsPath, prepareCall } = await getConnection();
  const writes = ids.map((id, i): Request.IWrite => {
    const price = prices[i] ?? NaN;
    const name = `${documentsPath}/${collection}/${id}`;
    // Like the SDK: safe integers are stored as integers, all other numbers as doubles.
    return {
      update: {
        name,
        fields: { [field]: Number.isSafeInteger(price) ? { integerValue: price } : { doubleValue: price } },
      },
    };
  });
  // In Node protobufjs makes Buffers.
  const request = Request.CommitRequest.encode({ database: databasePath, writes }).finish();
  const call = prepareCall('Commit', ['database', databasePath], request as Buffer, timeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  runOutsideDomain(() => client.makeUnaryRequest(...call, (error, reply) => (error ? reject(error) : resolve(reply))));
  await promise;
}

/**
 * Decodes the entry in the response to a query, for `streamDocuments`.
 *
 * @param field holds the price
 * @returns the price as it is stored; undefined as the price if that is missing or not a number, and
 * undefined for a response without a document
 */
export function decodePriceEntry(response: Buffer, field: string): [id: string, price: number | undefined] | undefined {
  const { document } = Entry.RunQueryResponse.decode(response);
  if (!document) return undefined;
  const { doubleValue, integerValue } = document.fields?.[field] ?? {};
  // protobufjs decodes 64 bits as a Long where that package is installed.
  const price = doubleValue ?? (typeof integerValue === 'object' ? integerValue?.toNumber() : integerValue);
  return [toDocumentId(document.name), price];
}
