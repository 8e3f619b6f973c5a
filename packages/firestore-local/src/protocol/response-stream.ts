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
  /** Whether the client cancelled the call, or its connection closed, before the status. */
  readonly cancelled: boolean;
  /** Calls a listener when that happens. */
  onCancel(listener: () => void): void;
}

/** The response of a call. @param socket the connection of the call */
export function createResponseStream(stream: ServerHttp2Stream, socket: Socket): ResponseStream {
  const cancelListeners: (() => void)[] = [];
  let hasEnded = false;
  let cancelled = false;
  stream.once('close', () => {
    if (hasEnded) return;
    cancelled = true;
    for (const listener of cancelListeners) listener();
  });
  // An error also has headers. Without them the SDK treats it as a missing response and retries by itself.
  const sendHeaders = (): void => {
    if (!stream.headersSent) stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
  };
  const end = (code: status, message: string): void => {
    if (hasEnded || stream.destroyed) return;
    hasEnded = true;
    const text = message === '' ? {} : { 'grpc-message': encodeMessage(message) };
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(code), ...text }));
    sendHeaders();
    stream.end();
  };
  return {
    send: (message) => {
      if (hasEnded || stream.destroyed) return undefined;
      sendHeaders();
      if (stream.write(frameMessage(message))) return undefined;
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
    get cancelled() {
      return cancelled;
    },
    onCancel: (listener) => void cancelListeners.push(listener),
  };
}

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: encodes `%` and everything except printable ASCII. */
const encodeMessage = (message: string): string => message.toWellFormed().replace(/[^ -$&-~]+/g, encodeURIComponent);
