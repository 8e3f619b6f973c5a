import { Metadata, status, type Server, type ServerDuplexStream, type ServiceDefinition } from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import { root, type Message } from './codec';
import { unsupported } from './errors';
import { toList, toMessage } from './message-readers';

/* The operations of the protocol that are not served: each is refused at once and in words, so that no client waits. */

type Call = ServerDuplexStream<Buffer, Buffer>;

const HANDLERS: Readonly<Record<string, (call: Call) => void>> = {
  Listen: refuseTargets,
  Write: refuseWrites,
  PartitionQuery: (call) => refuse(call, 'Partitions of a query'),
  ExecutePipeline: (call) => refuse(call, 'Pipelines'),
};

/** Has a server refuse what is not served. */
export const addUnserved = (server: Server): void =>
  server.addService(toDefinition(Object.keys(HANDLERS), true), { ...HANDLERS });

/** Sends headers first: without them the SDK takes the status for a missing response and tries again for a minute. */
function refuse(call: Call, subject: string): void {
  const { status: code, message: details } = unsupported(subject);
  call.sendMetadata(new Metadata());
  call.emit('error', { code, details });
}

/** Removes each target of a listener with the cause, which SDKs hand to its error callback. A failed stream they would open again. */
function refuseTargets(call: Call): void {
  const cause = { code: status.UNIMPLEMENTED, message: unsupported('Listeners (onSnapshot)').message };
  call.on('data', (bytes: Buffer) => {
    const target = toMessage(decode('ListenRequest', bytes)['addTarget']);
    if (!target) return;
    const targetChange = { targetChangeType: 'REMOVE', targetIds: [target['targetId']], cause };
    call.write(encode('ListenResponse', { targetChange }));
  });
  call.on('end', () => call.end());
}

/** Refuses the writes of web and mobile SDKs after their handshake: before it, they would open the stream again. */
function refuseWrites(call: Call): void {
  call.on('data', (bytes: Buffer) => {
    if (toList(decode('WriteRequest', bytes)['writes']).length > 0) refuse(call, 'Writes of web and mobile SDKs');
    else call.write(encode('WriteResponse', { streamId: '1', streamToken: Buffer.from('1') }));
  });
  call.on('end', () => call.end());
}

const getType = (name: string): protobuf.Type => root.lookupType(`google.firestore.v1.${name}`);
const decode = (name: string, bytes: Buffer): Message => getType(name).decode(bytes) as unknown as Message;
const encode = (name: string, message: object): Buffer =>
  getType(name).encode(getType(name).fromObject(message)).finish() as Buffer;

const passThrough = (bytes: Buffer): Buffer => bytes;

/** Operations of the protocol whose messages stay bytes, each with a stream of responses. */
export const toDefinition = (names: readonly string[], requestStream: boolean): ServiceDefinition =>
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        path: `/google.firestore.v1.Firestore/${name}`,
        requestStream,
        responseStream: true,
        requestSerialize: passThrough,
        requestDeserialize: passThrough,
        responseSerialize: passThrough,
        responseDeserialize: passThrough,
      },
    ]),
  );
