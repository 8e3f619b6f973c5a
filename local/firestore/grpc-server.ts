import { createServer, type AddressInfo, type Server as SocketServer, type Socket } from 'node:net';
import { once } from 'node:events';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
  type sendUnaryData,
} from '@grpc/grpc-js';
import type { RpcError } from './errors';
import { RPCS, type Rpc } from './schema';

/** The operations whose answer is a stream. */
const STREAMING: ReadonlySet<Rpc> = new Set<Rpc>(['BatchGetDocuments', 'RunQuery', 'RunAggregationQuery']);

/** How an answer goes out: message by message, at the client's pace, then a status. */
export interface ResponseStream {
  /** Sends one message; a promise when the client has to catch up first. */
  send(message: Buffer): Promise<void> | undefined;
  end(): void;
  fail(error: RpcError): void;
  /** Destroys the connection that the call came by, with everything on it. */
  destroyConnection(): void;
  /** Whether the client has given up, or its connection has gone. */
  readonly cancelled: boolean;
  /** Calls a listener when the client gives up; gRPC also says so of every call that has ended. */
  onCancel(listener: () => void): void;
}

/** Handles one call from its raw request to the last of its reply. */
export type CallHandler = (rpc: Rpc, request: Buffer, peer: string, reply: ResponseStream) => void;

/** A gRPC server of google.firestore.v1.Firestore. */
export interface GrpcServer {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts the server. The sockets are this module's own and are handed to gRPC: so a test can have one destroyed, and the
 * end of a connection is seen at once. `onDisconnect` gets the peer of each connection that has gone.
 */
export async function startGrpcServer(
  host: string,
  port: number,
  handle: CallHandler,
  onDisconnect: (peer: string) => void,
): Promise<GrpcServer> {
  const sockets = new Map<string, Socket>();
  const server = new Server({
    // The limit on requests is Firestore's own, with Firestore's own answer; see `embedded.ts`.
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': 4 * 1024 * 1024,
  });
  server.addService(
    definition(),
    implementation(handle, (peer) => sockets.get(peer)?.destroy()),
  );
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer((socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.once('close', () => {
      sockets.delete(peer);
      onDisconnect(peer);
    });
    injector.injectConnection(socket);
  });
  await listen(listener, host, port);
  return {
    host,
    port: (listener.address() as AddressInfo).port,
    close: async () => {
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets.values()) socket.destroy();
      server.forceShutdown();
      await closed;
    },
  };
}

async function listen(listener: SocketServer, host: string, port: number): Promise<void> {
  try {
    listener.listen(port, host);
    await once(listener, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`port ${port} is taken: another program listens there. Stop it, or choose another port.`, {
      cause: error,
    });
  }
}

const identity = (bytes: Buffer): Buffer => bytes;

function definition(): ServiceDefinition {
  return Object.fromEntries(
    RPCS.map((rpc) => [
      rpc,
      {
        path: `/google.firestore.v1.Firestore/${rpc}`,
        requestStream: false,
        responseStream: STREAMING.has(rpc),
        requestSerialize: identity,
        requestDeserialize: identity,
        responseSerialize: identity,
        responseDeserialize: identity,
      },
    ]),
  );
}

type Unary = ServerUnaryCall<Buffer, Buffer>;
type Streaming = ServerWritableStream<Buffer, Buffer>;

function implementation(handle: CallHandler, destroy: (peer: string) => void): UntypedServiceImplementation {
  return Object.fromEntries(
    RPCS.map((rpc) => [
      rpc,
      STREAMING.has(rpc)
        ? (call: Streaming) => handle(rpc, call.request, call.getPeer(), streamReply(call, destroy))
        : (call: Unary, callback: sendUnaryData<Buffer>) =>
            handle(rpc, call.request, call.getPeer(), unaryReply(call, callback, destroy)),
    ]),
  );
}

function unaryReply(call: Unary, callback: sendUnaryData<Buffer>, destroy: (peer: string) => void): ResponseStream {
  const peer = call.getPeer();
  let answer: Buffer | undefined;
  return {
    send: (message) => {
      answer = message;
      return undefined;
    },
    end: () => callback(null, answer),
    fail: (error) => callback({ code: error.status, details: error.message }),
    destroyConnection: () => destroy(peer),
    get cancelled() {
      return call.cancelled;
    },
    onCancel: (listener) => call.once('cancelled', listener),
  };
}

function streamReply(call: Streaming, destroy: (peer: string) => void): ResponseStream {
  const peer = call.getPeer();
  return {
    send: (message) => {
      if (call.write(message)) return undefined;
      return new Promise((resolve) => {
        const go = (): void => {
          call.off('drain', go);
          call.off('cancelled', go);
          resolve();
        };
        call.once('drain', go);
        call.once('cancelled', go);
      });
    },
    end: () => call.end(),
    fail: (error) => {
      // Headers first: without them the SDK takes an error for no response at all, and tries twice more by itself.
      call.sendMetadata(new Metadata());
      call.emit('error', { code: error.status, details: error.message });
    },
    destroyConnection: () => destroy(peer),
    get cancelled() {
      return call.cancelled;
    },
    onCancel: (listener) => call.once('cancelled', listener),
  };
}
