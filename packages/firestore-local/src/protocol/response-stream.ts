import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import type { RpcError } from './errors';
import { frameMessage } from './message-framing';

/** A response: messages at the client's pace, then a status. Sends nothing after the status, or to a client that has left. */
export interface ResponseStream {
  /** Sends one message. Returns a promise while the client has to catch up. */
  send(message: Buffer): Promise<void> | undefined;
  end(): void;
  fail(error: RpcError): void;
  /** Destroys the connection of the call, with all other calls on it. */
  destroyConnection(): void;
  /** Whether the status was given. */
  readonly hasEnded: boolean;
  /** Whether the client cancelled the call, or its connection closed, before the status. */
  readonly cancelled: boolean;
}

/**
 * Runs a step that Node refuses, with an exception, once its client has closed the stream or the connection. Outside of any
 * handler the exception would end the process. Here it ends what it is about, and nothing else.
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

/** Calls a listener with each event of a stream. */
export function listen(stream: ServerHttp2Stream, event: string, listener: (chunk: Buffer) => void): void {
  stream.on(event, (chunk: Buffer) => attempt(stream, () => listener(chunk)));
}

/** The response of a call. @param socket the connection of the call */
export function createResponseStream(stream: ServerHttp2Stream, socket: Socket): ResponseStream {
  let hasEnded = false;
  let cancelled = false;
  stream.once('close', () => (cancelled = !hasEnded));
  // An error also has headers. Without them the SDK treats it as a missing response and retries by itself.
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

/** The most characters of a status text: it may quote a long name, and Node refuses headers of more than 64 KiB. */
const MAX_TEXT = 4000;

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: encodes `%` and everything except printable ASCII. */
const encodeMessage = (message: string): string =>
  message
    .slice(0, MAX_TEXT)
    .toWellFormed()
    .replace(/[^ -$&-~]+/g, encodeURIComponent);
