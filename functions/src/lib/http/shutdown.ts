import { subscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';
import { systemClock, type Clock } from '../clock';
import { StoppedError } from '../errors';
import { logInstanceStopped, logInstanceStopping } from '../logging/instances';
import { STOP_MS, STOP_RESERVE_MS } from '../time-limits';
import { isAnswered } from './client-writer';

/** Gives the kernel time to send the last bytes before the exit closes the sockets. */
const LINGER_MS = 50;

export class Shutdown {
  /** Aborts at SIGTERM. No new creation or resume begins after that. */
  readonly refuseWrites = new AbortController();
  /** Aborts the creations and resumes that are still running after a few seconds. */
  readonly abortWrites = new AbortController();
  /** Ends the reads, and the wait for creations. */
  readonly stopWaiting = new AbortController();
  readonly #servers = new Set<Server>();
  readonly #openResponses = new Set<ServerResponse>();
  #runningHandlers = 0;
  readonly #drained = new AbortController();

  get #isStopping(): boolean {
    return this.refuseWrites.signal.aborted;
  }

  get #unanswered(): number {
    return [...this.#openResponses].filter((response) => !isAnswered(response)).length;
  }

  addResponse(server: Server, response: ServerResponse): void {
    this.#servers.add(server);
    this.#openResponses.add(response);
    if (this.#isStopping) response.setHeader('Connection', 'close');
    response.once('close', () => {
      this.#openResponses.delete(response);
      this.#endStopIfDrained();
    });
  }

  /** Runs a handler. A stop waits for its end, because it may still have to fail an attempt whose client has left. */
  async waitFor(handle: () => Promise<void>): Promise<void> {
    this.#runningHandlers += 1;
    try {
      await handle();
    } finally {
      this.#runningHandlers -= 1;
      this.#endStopIfDrained();
    }
  }

  #endStopIfDrained(): void {
    const isIdle = this.#openResponses.size === 0 && this.#runningHandlers === 0;
    if (this.#isStopping && isIdle) this.#drained.abort();
  }

  /**
   * Accepts no more connections. Returns when all handlers have ended and all responses are closed, or
   * when the time is up.
   */
  async stop(clock: Clock): Promise<void> {
    const startedAt = clock.elapsedMs();
    const reason = new StoppedError('the instance is stopping', STOP_RESERVE_MS);
    this.refuseWrites.abort(reason);
    for (const server of this.#servers) server.close();
    logInstanceStopping(this.#unanswered);
    for (const response of this.#openResponses) if (!response.headersSent) response.setHeader('Connection', 'close');
    this.#endStopIfDrained();

    // The waits run in parallel, because timers are late on a busy machine and consecutive waits could
    // exceed the platform's 10 s.
    const wait = (ms: number, end?: AbortController) =>
      clock.sleep(ms, this.#drained.signal).then(
        () => end?.abort(reason),
        () => undefined,
      );
    await Promise.all([
      wait(STOP_MS.abortWrites, this.abortWrites),
      wait(STOP_MS.stopWaiting, this.stopWaiting),
      wait(STOP_MS.exit),
    ]);
    logInstanceStopped(this.#unanswered, Math.round(clock.elapsedMs() - startedAt));
  }
}

export const shutdown = new Shutdown();

/**
 * Replaces the Functions Framework's SIGTERM handler, which exits in the middle of requests. This
 * happens at the first request, because the framework adds its handler when it begins to listen.
 */
export function stopOnSigterm(): void {
  let isReplaced = false;
  subscribe('http.server.request.start', (message) => {
    const { server, response } = message as { server: Server; response: ServerResponse };
    shutdown.addResponse(server, response);
    if (isReplaced) return;
    isReplaced = true;
    process.removeAllListeners('SIGTERM');
    process.once('SIGTERM', () => void exitAfterRequests());
  });
}

async function exitAfterRequests(): Promise<void> {
  await shutdown.stop(systemClock);
  setTimeout(() => process.exit(0), LINGER_MS);
}
