import { getConnection } from './connection';
import { Request } from './generated/request';
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
  const call = prepareCall('Commit', request as Buffer, timeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  runOutsideDomain(() => client.makeUnaryRequest(...call, (error, reply) => (error ? reject(error) : resolve(reply))));
  await promise;
}
