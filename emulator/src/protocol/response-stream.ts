import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import type { RpcError } from './errors';
import { frameMessage } from './message-framing';

/** The response of a call. Sends nothing after its status, or after the client has closed the stream. */
export interface ResponseStream {
  /** Sends one message. If the function returns a promise, the caller waits for it before the next message. */
  send(message: Buffer): Promise<void> | undefined;
  end(): void;
  fail(error: RpcError): void;
  /** Destroys the connection of the call, with all other calls on it. */
  destroyConnection(): void;
  /** Whether `end` or `fail` was called while the stream was open. */
  readonly hasEnded: boolean;
  /** Whether the client cancelled the call, or its connection closed, before the status. */
  readonly cancelled: boolean;
}

/**
 * Runs a step in which Node throws if the client has closed the stream or the connection. An uncaught exception would end the
 * process. Here it destroys only the stream or the socket.
 */
export function attempt<T>(target: ServerHttp2Stream | Socket, step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    target.destroy();
    if (!String((error as NodeJS.ErrnoException).code).startsWith('ERR_HTTP2_')) console.error(error);
    return undefined;
  }
}

/** Calls a listener with each event of a stream. An exception destroys only the stream. */
export function listen(stream: ServerHttp2Stream, event: string, listener: (chunk: Buffer) => void): void {
  stream.on(event, (chunk: Buffer) => attempt(stream, () => listener(chunk)));
}

/** Creates the response of a call. @param socket the connection of the call */
export function createResponseStream(stream: ServerHttp2Stream, socket: Socket): ResponseStream {
  let hasEnded = false;
  let cancelled = false;
  stream.once('close', () => (cancelled = !hasEnded));
  // Headers precede an error too. Without them, the SDK repeats a read after every error, because no response has begun.
  const sendHeaders = (): void => {
    if (!stream.headersSent) stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
  };
  const end = (code: status, message: string): void => {
    if (hasEnded || stream.destroyed) return;
    hasEnded = true;
    const text = message === '' ? {} : { 'grpc-message': encodeMessage(message) };
    listen(stream, 'wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(code), ...text }));
    attempt(stream, () => {
      sendHeaders();
      stream.end();
    });
  };
  return {
    send: (message) => {
      const hasRoom = attempt(stream, () => {
        if (hasEnded || stream.destroyed) return true;
        sendHeaders();
        return stream.write(frameMessage(message));
      });
      if (hasRoom !== false) return undefined;
      return new Promise((resolve) => {
        const onReady = (): void => {
          stream.off('drain', onReady);
          stream.off('close', onReady);
          resolve();
        };
        stream.once('drain', onReady);
        stream.once('close', onReady);
      });
    },
    end: () => end(status.OK, ''),
    fail: (error) => end(error.status, error.message),
    destroyConnection: () => socket.destroy(),
    get hasEnded() {
      return hasEnded;
    },
    get cancelled() {
      return cancelled;
    },
  };
}

/** The maximum length of a status text. A text can quote a long name, and Node refuses headers of more than 64 KiB. */
const MAX_TEXT = 4000;

/** Truncates a text and percent-encodes it for a header: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
const encodeMessage = (message: string): string =>
  message
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/[^ -$&-~]+/g, encodeURIComponent);
