import { getConnection } from './connection';
import { Request } from './generated/request';
import { runOutsideDomain } from './node-domain';

/** Documents of one collection with one field, which holds a number. */
export interface NumberDocuments {
  /** Path of the collection. */
  collection: string;
  field: string;
  ids: readonly string[];
  /** The numbers in the order of the ids: finite and non-negative. */
  values: Float64Array;
}

/**
 * Replaces the documents, all of them or none, in one try of one call.
 *
 * @throws gRPC error; `DEADLINE_EXCEEDED` after `timeoutMs`
 */
export async function commitNumberDocuments(
  { collection, field, ids, values }: NumberDocuments,
  timeoutMs: number,
): Promise<void> {
  const { client, databasePath, documentsPath, prepareCall } = await getConnection();
  const writes = ids.map((id, i): Request.IWrite => {
    const value = values[i] ?? NaN;
    const name = `${documentsPath}/${collection}/${id}`;
    // Like the SDK: safe integers are stored as integers, all other numbers as doubles.
    return {
      update: {
        name,
        fields: { [field]: Number.isSafeInteger(value) ? { integerValue: value } : { doubleValue: value } },
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
