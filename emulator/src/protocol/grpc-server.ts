import { once } from 'node:events';
import { performServerHandshake, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { RPCS, encodeResponse } from './decode-request';
import { invalid, unsupported, type RpcError } from './errors';
import { MessageReader } from './message-framing';
import type { Rpc } from './requests';
import { attempt, createResponseStream, listen, type ResponseStream } from './response-stream';

/** Handles one call, from its encoded request to the end of its response. */
export type CallHandler = (rpc: Rpc, request: Buffer, stream: ResponseStream) => void;

/** A gRPC server of google.firestore.v1.Firestore. */
export interface GrpcServer {
  readonly port: number;
  close(): Promise<void>;
}

/** The number of bytes that a client can send before the server reads them, both in one call and in all calls of one connection. */
const WINDOW_BYTES = 4 * 1024 * 1024;

/** Bounds the memory for requests: a connection has at most 100 calls at once, with messages of at most 10 MiB (message-framing.ts). */
const MAX_CONNECTIONS = 100;

const SESSION_OPTIONS = {
  settings: { initialWindowSize: WINDOW_BYTES, maxConcurrentStreams: 100 },
  // Node also counts responses that wait for their client, so its default of 10 MB would refuse calls beside a large query.
  maxSessionMemory: Number.MAX_SAFE_INTEGER,
};

const ignore = (): void => undefined;

/**
 * Starts a server on Node's HTTP/2. The server of @grpc/grpc-js 1.14 throws outside of any handler if a client resets a stream
 * right after headers that the server rejects. It also refuses a long message with RESOURCE_EXHAUSTED, unlike Firestore.
 */
export async function startGrpcServer(port: number, handle: CallHandler): Promise<GrpcServer> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    // Without this listener, a client that resets its connection would end the process. Node closes the socket after the error.
    socket.on('error', ignore);
    socket.once('close', () => sockets.delete(socket));
    const onFirstBytes = (): void => {
      const start = socket.read() as Buffer | null;
      if (start === null) return; // closed
      if (!isHttp2(start)) {
        socket.resume().end(NOT_GRPC);
        return;
      }
      socket.unshift(start);
      const session = performServerHandshake(socket, SESSION_OPTIONS);
      session.on('error', ignore);
      session.setLocalWindowSize(WINDOW_BYTES);
      const connection = { socket, handle };
      session.on('stream', (stream, headers) => attempt(stream, () => respond(stream, headers, connection)));
    };
    socket.once('readable', () => attempt(socket, onFirstBytes));
  });
  listener.maxConnections = MAX_CONNECTIONS;
  await bind(listener, port);
  return {
    port: (listener.address() as AddressInfo).port,
    close: async () => {
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Listens on the loopback address, so that nothing outside this machine can call the server. */
async function bind(listener: Server, port: number): Promise<void> {
  try {
    listener.listen(port, '127.0.0.1');
    await once(listener, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`port ${port} is taken: another program listens there. Stop it, or choose another port.`);
  }
}

/** The response to a connection that does not begin HTTP/2, such as that of curl or a browser. */
const NOT_GRPC =
  'HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n' +
  'The embedded Firestore serves the server SDKs, over gRPC. It has no REST interface and serves no browser.\n';

/** Returns whether the first bytes of a connection can begin HTTP/2, which gRPC uses. */
const isHttp2 = (start: Buffer): boolean => 'PRI * HTTP/2.0'.startsWith(start.toString('latin1', 0, 14));

interface Connection {
  readonly socket: Socket;
  readonly handle: CallHandler;
}

const SERVICE = '/google.firestore.v1.Firestore/';

/** Passes the request of a call to the handler, or refuses an operation that is not served. */
function respond(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, connection: Connection): void {
  const { socket, handle } = connection;
  stream.on('error', ignore);
  if (headers['content-type']?.startsWith('application/grpc') !== true) {
    stream.respond({ ':status': 415 }, { endStream: true });
    return;
  }
  const response = createResponseStream(stream, socket);
  const path = String(headers[':path']);
  const rpc = RPCS.find((each) => path === `${SERVICE}${each}`);
  if (!rpc) refuse(path, response);
  let isHandled = false;
  const reader = new MessageReader();
  const failOnError = (read: () => void): void => {
    if (response.hasEnded || isHandled) return;
    try {
      read();
    } catch (error) {
      response.fail(error as RpcError);
    }
  };
  const onData = (bytes: Buffer): void => {
    const message = reader.read(bytes);
    if (!rpc || !message) return;
    isHandled = true;
    handle(rpc, message, response);
  };
  const onEnd = (): void => {
    throw invalid('The request ends before its message is complete.');
  };
  listen(stream, 'data', (bytes) => failOnError(() => onData(bytes)));
  listen(stream, 'end', () => failOnError(onEnd));
}

/** Refuses an operation that is not served. */
function refuse(path: string, response: ResponseStream): void {
  const error = unsupported(`The operation ${path}`);
  if (path !== `${SERVICE}Listen`) {
    response.fail(error);
    return;
  }
  // SDKs pass the cause of a removed target to the listener's error callback. If the stream failed instead, they would reopen it.
  const cause = { code: error.status, message: error.message };
  void response.send(encodeResponse('Listen', { targetChange: { targetChangeType: REMOVE, cause } }));
  response.end();
}

/** The protocol's number for `TargetChange.REMOVE`. Without target ids, it removes all targets. */
const REMOVE = 2;
