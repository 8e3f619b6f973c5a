import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { ApiError } from '../errors';
import { measurePhase, type WorkContext } from '../work-context';

/** If a response is sent before its request is complete, the rest of the request is discarded up to one of these. */
const LINGER = { idleMs: 2_000, maxMs: 5_000, maxBytes: 32 * 1024 * 1024 };

/** Responses whose bodies have been written completely. The response to an incomplete request ends later. */
const finalResponses = new WeakSet<ServerResponse>();

/** Returns whether the operating system has a response's whole body, even if the request's body still arrives. */
export const isAnswered = (response: ServerResponse): boolean =>
  finalResponses.has(response) && response.writableLength === 0;

export class ClientWriter {
  /** Number of written chunks that the operating system does not have yet. */
  #unsentChunks = 0;

  /** @param context its signal ends the wait for the client; a signal that has already aborted is ignored */
  constructor(
    private readonly response: ServerResponse,
    private readonly context: Pick<WorkContext, 'signal' | 'counters'>,
  ) {}

  /** Whether the client has left, or the response has ended, such as with the error of a stopping instance. */
  get isOver(): boolean {
    return this.response.destroyed || this.response.writableEnded || finalResponses.has(this.response);
  }

  /** Writes a chunk, which waits in memory for a slow client. @returns false if the caller should wait for `drain` */
  write(chunk: Buffer): boolean {
    this.#announceClose();
    this.#unsentChunks += 1;
    return this.response.write(chunk, (error) => {
      if (!error) this.#unsentChunks -= 1;
    });
  }

  /** @throws ApiError request_timeout */
  async writeAtClientsPace(chunk: Buffer): Promise<void> {
    if (!this.isOver && !this.write(chunk)) await this.#waitFor((done) => this.response.once('drain', done));
  }

  /**
   * Ends the response, and waits until the operating system has it. If the request has not arrived completely,
   * the connection closes some time after that (nginx calls this a lingering close). If it closed at once, a client
   * that is still sending could lose the response.
   *
   * @returns whether all chunks were sent; false if the client left before that
   * @throws ApiError request_timeout
   */
  async end(): Promise<boolean> {
    const { response } = this;
    const isEarly = !response.req.complete;
    if (!this.isOver) {
      if (isEarly) this.#announceClose();
      finalResponses.add(response);
      if (isEarly) {
        response.flushHeaders();
        await this.#waitFor((done) => response.write('', done));
        lingerAndClose(response);
      } else {
        response.end();
        await this.#waitFor((done) => response.once('finish', done));
      }
    }
    return this.#unsentChunks === 0;
  }

  /** After a response to an incomplete request, the connection is not used again, because the body may never end. */
  #announceClose(): void {
    const { response } = this;
    if (!response.headersSent && !response.req.complete) response.setHeader('Connection', 'close');
  }

  /** Calls `start`, and waits until it calls `done` or the response closes. @throws ApiError request_timeout */
  async #waitFor(start: (done: () => void) => void): Promise<void> {
    const { response } = this;
    const { signal, counters } = this.context;
    const { promise, resolve, reject } = Promise.withResolvers();
    const done = () => resolve(undefined);
    const abort = () => reject(new ApiError('request_timeout', 'the client did not read the response in time'));
    response.once('close', done);
    signal.addEventListener('abort', abort);
    start(done);
    try {
      await measurePhase(counters, 'client', () => promise);
    } finally {
      response.off('close', done);
      signal.removeEventListener('abort', abort);
    }
  }
}

/**
 * Discards the rest of the request's body, up to a limit of {@link LINGER}. Then ends the response, which closes
 * the connection. If the response has no Content-Length, the client learns only then that it is complete.
 */
function lingerAndClose(response: ServerResponse): void {
  const { req: request } = response;
  const close = () => {
    clearTimeout(idle);
    clearTimeout(total);
    response.end();
  };
  const idle = setTimeout(close, LINGER.idleMs);
  const total = setTimeout(close, LINGER.maxMs);
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    idle.refresh();
    bytes += chunk.length;
    if (bytes > LINGER.maxBytes) close();
  });
  finished(request, close);
  request.resume();
}
