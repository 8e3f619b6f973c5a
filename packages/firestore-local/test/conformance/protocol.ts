import protos from '@google-cloud/firestore-api/protos/protos.json';
import { Client, Metadata, credentials, status, type ServiceError } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { RPCS, type InternalFirestore } from '../../src/internal';

/*
 * The raw protocol: requests and responses of google.firestore.v1.Firestore as the JSON of their messages, sent to any
 * server. No message passes code of the embedded Firestore, which it judges.
 */

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** What a server sent back for one call: its messages, and a status. */
export interface RawAnswer {
  readonly code: number;
  readonly message: string;
  readonly messages: readonly Buffer[];
}

/** A server that answers calls. */
export interface Transport {
  call(rpc: string, request: Buffer, deadlineMs?: number): Promise<RawAnswer>;
  close(): void;
}

const service = protobuf.Root.fromJSON(protos).lookupService('google.firestore.v1.Firestore');
service.resolveAll();

function getMethod(rpc: string): { request: protobuf.Type; response: protobuf.Type } {
  const method = service.methods[rpc];
  if (!method?.resolvedRequestType || !method.resolvedResponseType) throw new Error(`${rpc} is no operation.`);
  return { request: method.resolvedRequestType, response: method.resolvedResponseType };
}

/** Encodes a request. An unknown field is left out, and a message without its choice is empty. */
export function encodeRequest(rpc: string, request: JsonObject): Buffer {
  const { request: type } = getMethod(rpc);
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

/** Decodes a response message. 64-bit integers and special doubles are strings, bytes are base64. */
export function decodeResponse(rpc: string, message: Buffer): JsonObject {
  const { response: type } = getMethod(rpc);
  return type.toObject(type.decode(message), { longs: String, enums: String, bytes: String, json: true });
}

const DEADLINE_MS = 60_000;
const passThrough = (bytes: Buffer): Buffer => bytes;

/** Connects to a server at `host:port`. */
export function connect(address: string): Transport {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  // Google's emulator takes it for an administrator, who needs no rules.
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer owner');
  return {
    call: (rpc, request, deadlineMs = DEADLINE_MS) =>
      new Promise((resolve) => {
        const messages: Buffer[] = [];
        const path = `/google.firestore.v1.Firestore/${rpc}`;
        const deadline = Date.now() + deadlineMs;
        // On the wire a unary response is a stream of one message.
        const call = client.makeServerStreamRequest(path, passThrough, passThrough, request, metadata, { deadline });
        call.on('data', (message: Buffer) => messages.push(message));
        call.on('end', () => resolve({ code: status.OK, message: '', messages }));
        call.on('error', ({ code, details }: ServiceError) => resolve({ code, message: details, messages: [] }));
      }),
    close: () => client.close(),
  };
}

/** Calls an embedded Firestore of this process without a connection. */
export const connectInProcess = ({ handle }: InternalFirestore): Transport => ({
  call: (name, request, deadlineMs = DEADLINE_MS) =>
    new Promise((resolve, reject) => {
      const rpc = RPCS.find((each) => each === name);
      if (!rpc) {
        reject(new Error(`${name} is not served.`));
        return;
      }
      const messages: Buffer[] = [];
      const stream = { cancelled: false };
      const end = (code: status, message: string): void => {
        clearTimeout(timer);
        resolve({ code, message, messages: code === status.OK ? messages : [] });
      };
      const timer = setTimeout(() => {
        stream.cancelled = true;
        end(status.DEADLINE_EXCEEDED, 'Deadline exceeded');
      }, deadlineMs);
      handle(rpc, request, {
        send: (message) => void messages.push(message),
        end: () => end(status.OK, ''),
        fail: (error) => end(error.status, error.message),
        destroyConnection: () => undefined,
        hasEnded: false,
        get cancelled() {
          return stream.cancelled;
        },
      });
    }),
  close: () => undefined,
});
