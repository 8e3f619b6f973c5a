import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { ApiError } from '../errors';
import { measurePhase, type RequestContext } from '../request-context';

/** How much of a body is discarded after an early response, and for how long. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;
const MAX_DISCARD_MS = 5_000;

/** Writes a response to its client, and tells whether the client was sent all of it. */
export class ClientWriter {
  /** Chunks that the operating system does not have yet. */
  #unsentChunks = 0;

  /** @param context its signal ends the waiting for the client; aborted already, it does not */
  constructor(
    private readonly response: ServerResponse,
    private readonly context: Pick<RequestContext, 'signal' | 'counters'>,
  ) {}

  /** Whether the client is gone, or a stopping instance has sent an error response meanwhile. */
  get isOver(): boolean {
    return this.response.destroyed || this.response.writableEnded;
  }

  /** Keeps the chunk in memory until the client reads it. @returns false if it should not get more at once */
  write(chunk: Buffer): boolean {
    this.#announceClose();
    this.#unsentChunks += 1;
    return this.response.write(chunk, (error) => {
      if (!error) this.#unsentChunks -= 1;
    });
  }

  /** @throws ApiError request_timeout */
  async writeAtClientsPace(chunk: Buffer): Promise<void> {
    if (!this.isOver && !this.write(chunk)) await this.#waitFor('drain');
  }

  /**
   * Ends the response, and waits until it is sent. If the request has not arrived completely, the
   * client has the response, and the rest of the body is discarded first (nginx calls it a
   * lingering close): a client that sends before it reads would lose the response to a connection
   * that is closed while it sends.
   *
   * @returns whether all of it was sent; false if the client had gone before
   * @throws ApiError request_timeout
   */
  async end(): Promise<boolean> {
    const { response } = this;
    if (!response.req.complete && !this.isOver) {
      this.#announceClose();
      response.flushHeaders();
      await discardBody(response.req);
    }
    if (!this.isOver) response.end();
    if (!response.writableFinished && !response.destroyed) await this.#waitFor('finish');
    return this.#unsentChunks === 0;
  }

  /** After an early response the connection is not used again, since the rest of the body may never end. */
  #announceClose(): void {
    const { response } = this;
    if (!response.headersSent && !response.req.complete) response.setHeader('Connection', 'close');
  }

  /** Waits for an event, or until the client is gone. */
  async #waitFor(event: 'drain' | 'finish'): Promise<void> {
    const { response } = this;
    const { signal, counters } = this.context;
    const { promise, resolve, reject } = Promise.withResolvers();
    const abort = () => reject(new ApiError('request_timeout', 'the client did not read the response in time'));
    response.once(event, resolve).once('close', resolve);
    signal.addEventListener('abort', abort);
    try {
      await measurePhase(counters, 'client', () => promise);
    } finally {
      response.off(event, resolve).off('close', resolve);
      signal.removeEventListener('abort', abort);
    }
  }
}

/** Lets go of a body as it arrives, unparsed, up to its end or a bound. */
async function discardBody(request: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers();
  const timer = setTimeout(resolve, MAX_DISCARD_MS);
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) resolve(undefined);
  });
  finished(request, () => resolve(undefined));
  request.resume();
  await promise;
  clearTimeout(timer);
}
