import type protobuf from 'protobufjs';
import { decodeDocument, root, toNumber, type Message } from './codec';
import { readCount, readQuery } from './decode-query';
import { RpcError, invalid, unsupported } from './errors';
import {
  has,
  readDatabase,
  readMask,
  readMicros,
  readTransactionId,
  toList,
  toMessage,
  toText,
} from './message-readers';
import type { Consistency, Precondition, Requests, Rpc, Write } from './requests';

const readers: { readonly [K in Rpc]: (request: Message) => Requests[K] } = {
  BatchGetDocuments: (request) => ({
    database: readDatabase(request),
    documents: request['documents'] as string[],
    mask: readMask(request['mask']),
    consistency: readConsistency(request),
  }),
  BeginTransaction: (request) => {
    refuseReadOnly(request['options']);
    return { database: readDatabase(request) };
  },
  Commit: (request) => ({
    database: readDatabase(request),
    writes: toList(request['writes']).map(readWrite),
    transaction: readTransactionId(request['transaction']),
  }),
  Rollback: (request) => ({
    database: readDatabase(request),
    transaction: readTransactionId(request['transaction']) ?? '',
  }),
  RunQuery: (request) => ({
    query: readQuery(request, request['structuredQuery']),
    consistency: readConsistency(request),
  }),
  RunAggregationQuery: (request) => {
    const query = toMessage(request['structuredAggregationQuery']);
    return {
      query: readQuery(request, query?.['structuredQuery']),
      alias: readCount(toList(query?.['aggregations'] ?? [])),
      consistency: readConsistency(request),
    };
  },
  ListCollectionIds: (request) => {
    if (request['pageToken']) throw unsupported('A list of collections in several pages');
    if (request['readTime']) throw unsupported('A list of the collections at an earlier time');
    return { parent: toText(request['parent']), pageSize: toNumber(request['pageSize']) };
  },
};

export const RPCS = Object.keys(readers) as readonly Rpc[];

const service = root.lookupService('google.firestore.v1.Firestore');

function getMethod(rpc: Rpc | 'Listen'): { requestType: protobuf.Type; responseType: protobuf.Type } {
  const method = service.methods[rpc];
  method?.resolve();
  if (!method?.resolvedRequestType || !method.resolvedResponseType) throw new Error(`${rpc} is not defined.`);
  return { requestType: method.resolvedRequestType, responseType: method.resolvedResponseType };
}

/** Decodes a request to plain data. @throws RpcError for a request that is invalid or not supported */
export function decodeRequest<K extends Rpc>(rpc: K, bytes: Buffer): Requests[K] {
  try {
    return readers[rpc](getMethod(rpc).requestType.decode(bytes) as unknown as Message);
  } catch (error) {
    throw error instanceof RpcError ? error : invalid(`Malformed ${rpc} request: ${String(error)}`);
  }
}

/** Encodes a response, in which documents are already encoded and values are of the type Value. */
export const encodeResponse = (rpc: Rpc | 'Listen', response: object): Buffer =>
  getMethod(rpc).responseType.encode(response).finish() as Buffer;

function readConsistency(request: Message): Consistency {
  const start = toMessage(request['newTransaction']);
  if (start) {
    refuseReadOnly(start);
    return { kind: 'newTransaction' };
  }
  const id = has(request, 'transaction') ? readTransactionId(request['transaction']) : undefined;
  if (id !== undefined) return { kind: 'transaction', id };
  const readTime = readMicros(request['readTime']);
  return readTime === undefined ? { kind: 'latest' } : { kind: 'readTime', readTime };
}

function refuseReadOnly(options: unknown): void {
  if (toMessage(toMessage(options)?.['readOnly'])) throw unsupported('Read-only transactions');
}

function readWrite(message: Message): Write {
  const precondition = readPrecondition(message['currentDocument']);
  if (has(message, 'delete')) return { kind: 'delete', name: toText(message['delete']), precondition };
  if (has(message, 'transform') || toList(message['updateTransforms']).length > 0)
    throw unsupported('Field transforms');
  if (!has(message, 'update')) throw invalid('A write has no operation that is supported.');
  return {
    kind: 'update',
    ...decodeDocument(message['update'] as Uint8Array),
    mask: readMask(message['updateMask']),
    precondition,
  };
}

function readPrecondition(value: unknown): Precondition | undefined {
  const precondition = toMessage(value);
  if (!precondition) return undefined;
  if (has(precondition, 'exists')) return { exists: Boolean(precondition['exists']) };
  const updateTime = readMicros(precondition['updateTime']);
  return updateTime === undefined ? undefined : { updateTime };
}
