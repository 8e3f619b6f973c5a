import { connectivityState, Metadata, status, type ChannelInterface, type StatusObject } from '@grpc/grpc-js';
import {
  RPCS,
  type CallHandler,
  type InternalFirestore,
  type ResponseStream,
} from '../../../packages/firestore-local/src/internal';

type ClientCall = ReturnType<ChannelInterface['createCall']>;
type ResponseListener = Parameters<ClientCall['start']>[1];
type Deadline = Parameters<ChannelInterface['createCall']>[1];

let channels = 0;

/**
 * A gRPC channel to a server in this process: messages are encoded and decoded as ever, but pass no socket, no HTTP/2 and no
 * filter. For clients that make many thousand calls, with `'grpc.channelFactoryOverride': () => channel` in their options.
 */
export function createMemoryChannel({
  handlers: { handle, onDisconnect },
}: Pick<InternalFirestore, 'handlers'>): ChannelInterface {
  const peer = `memory:${++channels}`;
  const calls = new Set<MemoryCall>();
  const disconnect = () => {
    for (const call of calls) call.cancelWithStatus(status.UNAVAILABLE, 'The connection is closed.');
    onDisconnect(peer);
  };
  return {
    createCall: (method, deadline) => {
      const call: MemoryCall = new MemoryCall(peer, method, deadline, handle, disconnect, () => calls.delete(call));
      calls.add(call);
      return call;
    },
    close: disconnect,
    getTarget: () => peer,
    getConnectivityState: () => connectivityState.READY,
    watchConnectivityState: fail,
    getChannelzRef: fail,
  };
}

const fail = (): never => {
  throw new Error('A channel in memory has no connection to tell of.');
};

/** How many messages a call holds for its client before the server has to wait. */
const MAX_HELD_MESSAGES = 64;

class MemoryCall implements ClientCall {
  cancelled = false;
  readonly #messages: Buffer[] = [];
  readonly #onCancel: (() => void)[] = [];
  #request: Buffer | undefined;
  #listener: ResponseListener | undefined;
  /** How many messages the client has asked for and not got. */
  #reads = 0;
  #hasMetadata = false;
  #status: StatusObject | undefined;
  #isDelivering = false;
  #isOver = false;
  #resume: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly peer: string,
    private readonly method: string,
    deadline: Deadline,
    private readonly handle: CallHandler,
    private readonly disconnect: () => void,
    private readonly onEnd: () => void,
  ) {
    const timeoutMs = Number(deadline) - Date.now();
    if (timeoutMs === Infinity) return;
    const expire = () => this.cancelWithStatus(status.DEADLINE_EXCEEDED, 'Deadline exceeded');
    this.#timer = setTimeout(expire, Math.max(0, timeoutMs));
  }

  start(_metadata: Metadata, listener: ResponseListener): void {
    this.#listener = listener;
  }

  sendMessageWithContext(context: Parameters<ClientCall['sendMessageWithContext']>[0], message: Buffer): void {
    this.#request = message;
    const { callback } = context;
    if (callback !== undefined) process.nextTick(callback);
  }

  halfClose(): void {
    const name = this.method.slice(this.method.lastIndexOf('/') + 1);
    const rpc = RPCS.find((each) => each === name);
    const request = this.#request;
    if (rpc === undefined) this.#end(status.UNIMPLEMENTED, `There is no operation ${name}.`);
    else if (request !== undefined) queueMicrotask(() => this.handle(rpc, request, this.peer, this.#toStream()));
  }

  startRead(): void {
    this.#reads++;
    this.#deliver();
  }

  cancelWithStatus(code: status, details: string): void {
    if (this.#status !== undefined) return;
    this.cancelled = true;
    this.#messages.length = 0;
    this.#end(code, details);
    this.#resume?.();
    for (const listener of this.#onCancel) listener();
  }

  getPeer(): string {
    return this.peer;
  }

  getCallNumber(): number {
    return 0;
  }

  getAuthContext(): null {
    return null;
  }

  setCredentials(): void {
    // All messages stay in this process.
  }

  #toStream(): ResponseStream {
    const isCancelled = () => this.cancelled;
    return {
      send: (message) => {
        this.#messages.push(message);
        this.#deliver();
        if (this.#messages.length < MAX_HELD_MESSAGES || this.cancelled) return undefined;
        return new Promise((resolve) => (this.#resume = resolve));
      },
      end: () => this.#end(status.OK, ''),
      fail: (error) => this.#end(error.status, error.message),
      destroyConnection: this.disconnect,
      get cancelled() {
        return isCancelled();
      },
      onCancel: (listener) => void this.#onCancel.push(listener),
    };
  }

  #end(code: status, details: string): void {
    this.#status ??= { code, details, metadata: new Metadata() };
    clearTimeout(this.#timer);
    this.onEnd();
    this.#deliver();
  }

  /** Gives the client what it may get, once the code that brought it is done: as from a socket, never within a call of its own. */
  #deliver(): void {
    if (this.#isDelivering || this.#isOver) return;
    this.#isDelivering = true;
    queueMicrotask(() => {
      this.#isDelivering = false;
      if (this.#isOver || this.#listener === undefined) return;
      if (!this.#hasMetadata && this.#messages.length + Number(this.#status !== undefined) > 0) {
        this.#hasMetadata = true;
        this.#listener.onReceiveMetadata(new Metadata());
      }
      while (this.#reads > 0) {
        const message = this.#messages.shift();
        if (message === undefined) break;
        this.#reads--;
        this.#listener.onReceiveMessage(message);
      }
      if (this.#messages.length < MAX_HELD_MESSAGES) this.#resume?.();
      if (this.#status === undefined || this.#messages.length > 0) return;
      this.#isOver = true;
      this.#listener.onReceiveStatus(this.#status);
    });
  }
}
