import { subscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';
import { systemClock, type Clock } from '../clock';
import { StoppedError } from '../errors';
import { logInstanceStopped, logInstanceStopping } from '../logging';

/** Cloud Run sends SIGKILL 10 s after SIGTERM. The sum of these is 9 s. */
const FINISH_MS = 7_000;
const FAIL_MS = 1_000;
const FLUSH_MS = 1_000;

/** Lets the kernel send the last bytes before the exit closes the sockets. */
const LINGER_MS = 50;

/** Ends the requests of this process, which may serve several functions. */
export class Shutdown {
  /** Aborted one after another. */
  readonly abortWrites = new AbortController();
  readonly abortReads = new AbortController();
  /** Ends the waiting for handlers that did not end when they were aborted. */
  readonly stopWaiting = new AbortController();
  readonly #servers = new Set<Server>();
  readonly #openResponses = new Set<ServerResponse>();
  readonly #drained = new AbortController();

  get #isStopping(): boolean {
    return this.abortWrites.signal.aborted;
  }

  /** Adds a response, of any request that reaches the process. */
  addResponse(server: Server, response: ServerResponse): void {
    this.#servers.add(server);
    this.#openResponses.add(response);
    if (this.#isStopping) response.setHeader('Connection', 'close');
    response.once('close', () => {
      this.#openResponses.delete(response);
      this.#endStopIfDrained();
    });
  }

  #endStopIfDrained(): void {
    if (this.#isStopping && this.#openResponses.size === 0) this.#drained.abort();
  }

  /** Accepts no more connections and ends the requests in progress: reads by their responses if there is time. */
  async stop(clock: Clock): Promise<void> {
    const startedAt = clock.now();
    for (const server of this.#servers) server.close();
    logInstanceStopping(this.#openResponses.size);
    for (const response of this.#openResponses) if (!response.headersSent) response.setHeader('Connection', 'close');

    const reason = new StoppedError('the instance is stopping');
    this.abortWrites.abort(reason);
    this.#endStopIfDrained();
    // From one start: on a busy machine each timer is late, and together they would outlast the platform's 10 s.
    const wait = (endMs: number, maxMs: number) =>
      clock.sleep(Math.min(Math.max(0, startedAt + endMs - clock.now()), maxMs), this.#drained.signal);
    try {
      await wait(FINISH_MS, FINISH_MS);
      this.abortReads.abort(reason);
      await wait(FINISH_MS + FAIL_MS, FAIL_MS);
      this.stopWaiting.abort(reason);
      await wait(FINISH_MS + FAIL_MS + FLUSH_MS, FLUSH_MS);
    } catch (error) {
      if (!this.#drained.signal.aborted) throw error;
    }
    logInstanceStopped(this.#openResponses.size, clock.now() - startedAt);
  }
}

export const shutdown = new Shutdown();

/**
 * Replaces the Functions Framework's SIGTERM handler, which exits in the middle of requests. The framework adds its own
 * when it listens, which is before the first request.
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
