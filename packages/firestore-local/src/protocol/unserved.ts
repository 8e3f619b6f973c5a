import { status } from '@grpc/grpc-js';
import { root, type Message } from './codec';
import { RpcError, unsupported } from './errors';
import { toList, toMessage } from './message-readers';
import type { ResponseStream } from './response-stream';

/** The operations that the server does not support. It refuses each message at once with an explanation, so no client waits. */
export const UNSERVED: Readonly<Record<string, (message: Buffer, response: ResponseStream) => void>> = {
  Listen: refuseTarget,
  Write: refuseWrites,
  ListDocuments: (_, response) => response.fail(unsupported('Listings of documents')),
  PartitionQuery: (_, response) => response.fail(unsupported('Partitions of a query')),
  ExecutePipeline: (_, response) => response.fail(unsupported('Pipelines')),
};

/** Removes the target with the cause, which SDKs pass to the listener's error callback. They would reopen a failed stream. */
function refuseTarget(message: Buffer, response: ResponseStream): void {
  const cause = { code: status.UNIMPLEMENTED, message: unsupported('Listeners (onSnapshot)').message };
  const target = toMessage(decode('ListenRequest', message)['addTarget']);
  if (!target) return;
  const targetChange = { targetChangeType: 'REMOVE', targetIds: [target['targetId']], cause };
  send(response, 'ListenResponse', { targetChange });
}

/** Refuses the writes of web and mobile SDKs after their handshake. An SDK that is refused earlier opens the stream again. */
function refuseWrites(message: Buffer, response: ResponseStream): void {
  const hasWrites = toList(decode('WriteRequest', message)['writes']).length > 0;
  if (hasWrites) response.fail(unsupported('Writes of web and mobile SDKs'));
  else send(response, 'WriteResponse', { streamId: '1', streamToken: Buffer.from('1') });
}

/** Ends a stream whose client sends more, but does not read what it is told. */
function send(response: ResponseStream, name: string, message: object): void {
  if (response.send(encode(name, message)))
    throw new RpcError('UNAVAILABLE', 'The client does not read the responses.');
}

const getType = (name: string) => root.lookupType(`google.firestore.v1.${name}`);
const decode = (name: string, bytes: Buffer): Message => getType(name).decode(bytes) as unknown as Message;
const encode = (name: string, message: object): Buffer =>
  getType(name).encode(getType(name).fromObject(message)).finish() as Buffer;
