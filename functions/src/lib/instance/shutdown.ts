import domain, { type Domain } from 'node:domain';
import type { Server, ServerResponse } from 'node:http';
import { StoppedError } from '../errors';
import { logInstanceStopping } from '../logging/instances';
import { STOP_MS, STOP_RESERVE_MS } from '../time-limits';

export class Shutdown {
  /** Aborts at SIGTERM. After that, no resume begins, and no creation unless its whole body has been read and inflated. */
  readonly refuseWrites = new AbortController();
  readonly abortWrites = new AbortController();
  readonly stopWaiting = new AbortController();
  readonly #servers = new Set<Server>();
  readonly #openResponses = new Set<ServerResponse>();
  #runningHandlers = 0;
  readonly #end = Promise.withResolvers<undefined>();

  addResponse(response: ServerResponse, server: Server): void {
    this.#servers.add(server);
    this.#openResponses.add(response);
    if (this.refuseWrites.signal.aborted) response.setHeader('Connection', 'close');
    response.once('close', () => {
      this.#openResponses.delete(response);
      this.#endIfIdle();
    });
  }

  get runningHandlers(): number {
    return this.#runningHandlers;
  }

  /** Runs a handler. A stop waits until the handler ends, because the handler may have to fail an attempt whose client has left. */
  async waitFor(handle: () => Promise<void>): Promise<void> {
    this.#runningHandlers += 1;
    try {
      await handle();
    } finally {
      this.#runningHandlers -= 1;
      this.#endIfIdle();
    }
  }

  #endIfIdle(): void {
    const isIdle = this.#openResponses.size === 0 && this.#runningHandlers === 0;
    if (isIdle && this.refuseWrites.signal.aborted) this.#end.resolve(undefined);
  }

  /** Returns when all handlers have ended and all responses are closed, at the latest after `STOP_MS.exit`. */
  async stop(): Promise<void> {
    const reason = new StoppedError('the instance is stopping', STOP_RESERVE_MS);
    this.refuseWrites.abort(reason);
    logInstanceStopping(this.#runningHandlers);
    for (const server of this.#servers) server.close();
    for (const response of this.#openResponses) if (!response.headersSent) response.setHeader('Connection', 'close');
    const timers = [
      setTimeout(() => this.abortWrites.abort(reason), STOP_MS.abortWrites),
      setTimeout(() => this.stopWaiting.abort(reason), STOP_MS.stopWaiting),
      setTimeout(() => this.#end.resolve(undefined), STOP_MS.exit),
    ];
    this.#endIfIdle();
    await this.#end.promise;
    timers.forEach(clearTimeout);
  }
}

export const shutdown = new Shutdown();

/**
 * Runs a handler, and lets a stop of the instance wait for it. The handler runs outside the `node:domain` of
 * the Functions Framework, because a domain makes every promise many times as expensive. An error
 * that nothing handles therefore ends the instance (docs/operations.md#shutdown).
 */
export function runHandler(handle: () => Promise<void>): Promise<void> {
  const { active } = domain as { active?: Domain | null };
  active?.exit();
  try {
    return shutdown.waitFor(handle);
  } finally {
    active?.enter();
  }
}
