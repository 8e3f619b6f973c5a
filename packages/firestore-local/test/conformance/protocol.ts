import protos from '@google-cloud/firestore-api/protos/protos.json';
import { Client, Metadata, credentials, type ServiceError } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import type { InternalFirestore } from '../../src/internal';

/*
 * The raw protocol: requests and responses of google.firestore.v1.Firestore as the JSON of their messages, sent to any
 * server. Nothing here shares code with the embedded Firestore, which it judges.
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
  close(): Promise<void>;
}

const OK = 0;
const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;

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
export const decodeResponse = (rpc: string, message: Buffer): JsonObject =>
  getMethod(rpc).response.toObject(getMethod(rpc).response.decode(message), {
    longs: String,
    enums: String,
    bytes: String,
    json: true,
  });

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
    call: (rpc, request, deadlineMs = 60_000) =>
      new Promise((resolve) => {
        const messages: Buffer[] = [];
        const path = `/google.firestore.v1.Firestore/${rpc}`;
        // On the wire a unary response is a stream of one message.
        const call = client.makeServerStreamRequest(path, passThrough, passThrough, request, metadata, {
          deadline: Date.now() + deadlineMs,
        });
        call.on('data', (message: Buffer) => messages.push(message));
        call.on('end', () => resolve({ code: OK, message: '', messages }));
        call.on('error', ({ code, details }: ServiceError) => resolve({ code, message: details, messages: [] }));
      }),
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

/** Calls an embedded Firestore of this process without a connection. */
export function connectInProcess(server: InternalFirestore): Transport {
  const known = new Set(Object.keys(server.counts()));
  return {
    call: async (rpc, request, deadlineMs = 60_000) => {
      if (!known.has(rpc)) return { code: UNIMPLEMENTED, message: 'not served', messages: [] };
      return new Promise<RawAnswer>((resolve) => {
        const messages: Buffer[] = [];
        let cancel = (): void => undefined;
        let cancelled = false;
        const timer = setTimeout(() => {
          cancelled = true;
          cancel();
          resolve({ code: DEADLINE_EXCEEDED, message: 'Deadline exceeded', messages: [] });
        }, deadlineMs);
        const finish = (answer: RawAnswer): void => {
          clearTimeout(timer);
          resolve(answer);
        };
        server.handlers.handle(rpc as never, request, 'conformance', {
          send: (message) => void messages.push(message),
          end: () => finish({ code: OK, message: '', messages }),
          fail: ({ status, message }) => finish({ code: status, message, messages: [] }),
          destroyConnection: () => undefined,
          get cancelled() {
            return cancelled;
          },
          onCancel: (listener) => (cancel = listener),
        });
      });
    },
    close: () => Promise.resolve(),
  };
}
