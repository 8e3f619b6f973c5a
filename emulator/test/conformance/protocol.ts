import protos from '@google-cloud/firestore-api/protos/protos.json';
import { Client, Metadata, credentials, status, type ServiceError } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

/*
 * Sends requests of google.firestore.v1.Firestore to any server. Callers pass and receive their messages as JSON. This module uses
 * no code of the embedded Firestore, so that an error in that code cannot hide itself.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** The response to one call. A failed call has no messages. */
export interface Response {
  readonly code: number;
  readonly messages: readonly JsonObject[];
}

export interface Server {
  call(rpc: string, request: JsonObject): Promise<Response>;
  close(): void;
}

const service = protobuf.Root.fromJSON(protos).lookupService('google.firestore.v1.Firestore');
service.resolveAll();

/** Connects to a server at `host:port`. */
export function connect(address: string): Server {
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  // With this token, Google's emulator applies no security rules to the calls.
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer owner');
  return {
    call: (rpc, request) =>
      new Promise((resolve) => {
        const { resolvedRequestType: requests, resolvedResponseType: responses } = service.methods[rpc] ?? {};
        if (!requests || !responses) throw new Error(`${rpc} is not an operation.`);
        const messages: JsonObject[] = [];
        // On the wire, a unary response is a stream of one message.
        const call = client.makeServerStreamRequest(
          `/google.firestore.v1.Firestore/${rpc}`,
          (message: JsonObject) => Buffer.from(requests.encode(requests.fromObject(message)).finish()),
          // Enums, 64-bit integers and special doubles become strings, and bytes become base64.
          (bytes): JsonObject =>
            responses.toObject(responses.decode(bytes), { longs: String, enums: String, bytes: String, json: true }),
          request,
          metadata,
          { deadline: Date.now() + DEADLINE_MS },
        );
        call.on('data', (message: JsonObject) => messages.push(message));
        call.on('end', () => resolve({ code: status.OK, messages }));
        call.on('error', ({ code }: ServiceError) => resolve({ code, messages: [] }));
      }),
    close: () => client.close(),
  };
}

const DEADLINE_MS = 60_000;
