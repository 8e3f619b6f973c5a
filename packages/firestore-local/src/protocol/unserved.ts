import { status } from '@grpc/grpc-js';
import { root, type Message } from './codec';
import { RpcError, unsupported } from './errors';
import { toMessage } from './message-readers';
import type { ResponseStream } from './response-stream';

/** The operations that the server refuses, with the reason. Mobile SDKs call `Write` again after the refusal. */
export const UNSERVED: Readonly<Record<string, (message: Buffer, response: ResponseStream) => void>> = {
  Listen: refuseTarget,
  Write: (_, response) => response.fail(unsupported('Writes of web and mobile SDKs')),
  ListDocuments: (_, response) => response.fail(unsupported('Listings of documents')),
  BatchWrite: (_, response) => response.fail(unsupported('Batches of writes (BulkWriter)')),
  PartitionQuery: (_, response) => response.fail(unsupported('Partitions of a query')),
  ExecutePipeline: (_, response) => response.fail(unsupported('Pipelines')),
};

/** Removes the target of a listener. SDKs pass the cause to its error callback, but would reopen a stream that fails. */
function refuseTarget(message: Buffer, response: ResponseStream): void {
  const cause = { code: status.UNIMPLEMENTED, message: unsupported('Listeners (onSnapshot)').message };
  const target = toMessage((requestType.decode(message) as unknown as Message)['addTarget']);
  if (!target) return;
  const targetChange = { targetChangeType: 'REMOVE', targetIds: [target['targetId']], cause };
  const answer = responseType.encode(responseType.fromObject({ targetChange })).finish() as Buffer;
  // Ends the stream of a client that keeps sending but does not read the responses.
  if (response.send(answer)) throw new RpcError('UNAVAILABLE', 'The client does not read the responses.');
}

const requestType = root.lookupType('google.firestore.v1.ListenRequest');
const responseType = root.lookupType('google.firestore.v1.ListenResponse');
