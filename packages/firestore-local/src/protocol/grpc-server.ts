import { createServer, type AddressInfo, type Server as SocketServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { Metadata, Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { RPCS } from './decode-request';
import type { RpcError } from './errors';
import type { Rpc } from './requests';
import { addUnserved, toDefinition } from './unserved';

/** A response: messages at the client's pace, then a status. */
export interface ResponseStream {
  /** Sends one message; a promise while the client has to catch up. */
  send(message: Buffer): Promise<void> | undefined;
  end(): void;
  fail(error: RpcError): void;
  /** Destroys the connection of the call, with all other calls on it. */
  destroyConnection(): void;
  /** Whether the client cancelled the call or its connection closed. */
  readonly cancelled: boolean;
  /** Calls a listener when the client cancels. gRPC also reports calls that have ended. */
  onCancel(listener: () => void): void;
}

/** Handles one call, from its encoded request to the end of its response. */
export type CallHandler = (rpc: Rpc, request: Buffer, peer: string, stream: ResponseStream) => void;

export interface ConnectionHandlers {
  handle: CallHandler;
  /** Called with the peer of each closed connection. */
  onDisconnect: (peer: string) => void;
}

/** A gRPC server of google.firestore.v1.Firestore. */
export interface GrpcServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts the server. It accepts the sockets itself, so that a fault can destroy one and a closed one is noticed at once.
 * Every call has a response stream: on the wire a unary response is a stream of one message.
 */
export async function startGrpcServer(
  host: string,
  port: number,
  { handle, onDisconnect }: ConnectionHandlers,
): Promise<GrpcServer> {
  const sockets = new Map<string, Socket>();
  const server = new Server({
    // calls.ts enforces Firestore's limit, with Firestore's error.
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc-node.flow_control_window': 4 * 1024 * 1024,
  });
  const toHandler =
    (rpc: Rpc) =>
    (call: ServerWritableStream<Buffer, Buffer>): void => {
      const peer = call.getPeer();
      handle(
        rpc,
        call.request,
        peer,
        createResponseStream(call, () => sockets.get(peer)?.destroy()),
      );
    };
  addUnserved(server);
  server.addService(toDefinition(RPCS, false), Object.fromEntries(RPCS.map((rpc) => [rpc, toHandler(rpc)])));
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer((socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.once('close', () => {
      sockets.delete(peer);
      onDisconnect(peer);
    });
    socket.once('readable', () => {
      const start = socket.read() as Buffer | null;
      if (start === null) return; // closed
      socket.unshift(start);
      if (isHttp2(start)) injector.injectConnection(socket);
      else socket.end(NOT_GRPC);
    });
  });
  await listen(listener, host, port);
  return {
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
    const { code, message } = error as NodeJS.ErrnoException;
    const taken = `port ${port} is taken: another program listens there. Stop it, or choose another port.`;
    throw new Error(code === 'EADDRINUSE' ? taken : `nothing can listen at ${host}: ${message}`, { cause: error });
  }
}

/** What other clients, such as curl and browsers, get in place of a connection that closes without a word. */
const NOT_GRPC =
  'HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n' +
  'firestore-local serves the server SDKs, over gRPC. It has no REST interface and serves no browser.\n';

/** Whether these first bytes of a connection are those of HTTP/2, which gRPC uses. */
const isHttp2 = (start: Buffer): boolean => 'PRI * HTTP/2.0'.startsWith(start.toString('latin1', 0, 14));

function createResponseStream(
  call: ServerWritableStream<Buffer, Buffer>,
  destroyConnection: () => void,
): ResponseStream {
  return {
    send: (message) => {
      if (call.write(message)) return undefined;
      return new Promise((resolve) => {
        const onReady = (): void => {
          call.off('drain', onReady);
          call.off('cancelled', onReady);
          resolve();
        };
        call.once('drain', onReady);
        call.once('cancelled', onReady);
      });
    },
    end: () => call.end(),
    fail: (error) => {
      // Headers first: without them the SDK takes an error for a missing response and retries by itself.
      call.sendMetadata(new Metadata());
      call.emit('error', { code: error.status, details: error.message });
    },
    destroyConnection,
    get cancelled() {
      return call.cancelled;
    },
    onCancel: (listener) => call.once('cancelled', listener),
  };
}
