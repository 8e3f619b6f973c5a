import { RpcError, type Code } from './errors';
import type { Requests, Rpc } from './schema';

/** A call as tests see it. */
export interface Call<K extends Rpc = Rpc> {
  readonly rpc: K;
  readonly project: string;
  readonly database: string;
  /** The decoded request; documents have full resource names, and maps are Maps. */
  readonly request: Requests[K];
  /** The place of the call among all calls to the server, from 1. */
  readonly sequence: number;
}

/** A call that has ended. `DROPPED` and `SILENT` are the doing of a fault: its client was told nothing. */
export interface EndedCall extends Call {
  readonly outcome: Code | 'DROPPED' | 'SILENT';
  readonly message: string;
  readonly durationMs: number;
}

/** What happens to a call that a fault strikes. After `delay` and `call` it goes on; after the others it does not. */
export type FaultAction<K extends Rpc = Rpc> =
  /** It is answered with a status. */
  | { readonly kind: 'error'; readonly code: Code; readonly message?: string }
  /** Its connection is destroyed, with every other call on it. */
  | { readonly kind: 'drop' }
  /** It waits. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** It is never answered. */
  | { readonly kind: 'silence' }
  /** A function runs, and the call waits for it: to kill a process, to look at the data, to hold the call until later. */
  | { readonly kind: 'call'; readonly run: (call: Call<K>) => void | Promise<void> };

/** What to do to which calls. */
export interface Fault<K extends Rpc = Rpc> {
  readonly rpc: K;
  /** Only calls for which this is true count. */
  readonly match?: (call: Call<K>) => boolean;
  /** The first call struck, counted from 1 among those that match from now on: 3 lets two pass. Default 1. */
  readonly nth?: number;
  /** How many calls are struck, one after another. Default 1. */
  readonly times?: number;
  /**
   * Before the call does anything (the default), after all it does has been applied but not answered, or, for a streamed
   * answer, once that many messages of it are out.
   */
  readonly when?: 'before' | 'after' | { readonly messages: number };
  readonly action: FaultAction<K>;
}

/** A fault that has been injected. */
export interface InjectedFault {
  /** How many calls it has struck. */
  readonly count: number;
  /** Settles with the first call that it strikes, at the moment it does. */
  readonly fired: Promise<Call>;
  /** Takes it back. */
  remove(): void;
}

/** Thrown through a call that a fault leaves without an answer. */
export class NoResponse extends Error {
  constructor(readonly kind: 'DROPPED' | 'SILENT') {
    super(kind);
  }
}

interface Active {
  readonly fault: Fault;
  seen: number;
  count: number;
  readonly fire: (call: Call) => void;
}

/** The faults that one call is to meet. */
export class MatchedFaults {
  constructor(
    private readonly call: Call,
    private readonly struck: readonly Active[],
  ) {}

  /** Lets the faults of a point strike. Throws what takes the place of the call's answer. */
  async at(point: 'before' | 'after'): Promise<void> {
    for (const active of this.struck)
      if ((active.fault.when ?? 'before') === point) await applyFault(active, this.call);
  }

  /** As {@link MatchedFaults.at}, after the given number of messages; undefined when there is nothing to wait for. */
  afterMessages(count: number): Promise<void> | undefined {
    const due = this.struck.filter(({ fault: { when } }) => typeof when === 'object' && when.messages === count);
    return due.length === 0 ? undefined : applyFaults(due, this.call);
  }
}

async function applyFaults(due: readonly Active[], call: Call): Promise<void> {
  for (const active of due) await applyFault(active, call);
}

async function applyFault(active: Active, call: Call): Promise<void> {
  const { action } = active.fault;
  active.count++;
  active.fire(call);
  switch (action.kind) {
    case 'error':
      throw new RpcError(action.code, action.message ?? `injected ${action.code}`);
    case 'drop':
      throw new NoResponse('DROPPED');
    case 'silence':
      throw new NoResponse('SILENT');
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, action.ms));
      return;
    case 'call':
      await action.run(call);
  }
}

/** Faults that tests inject. Each call is counted by every fault that matches it, in the order of arrival. */
export class Faults {
  private readonly active = new Set<Active>();

  /** Injects a fault, from the next call on. */
  inject<K extends Rpc>(fault: Fault<K>): InjectedFault {
    let fire: (call: Call) => void = () => undefined;
    const fired = new Promise<Call>((resolve) => (fire = resolve));
    // A fault only ever meets calls of its own operation, which is what its types say.
    const active: Active = { fault: fault as unknown as Fault, seen: 0, count: 0, fire };
    this.active.add(active);
    return {
      get count() {
        return active.count;
      },
      fired,
      remove: () => void this.active.delete(active),
    };
  }

  /** Takes back all faults. */
  clear(): void {
    this.active.clear();
  }

  /** The faults that a new call is to meet; counts the call. */
  matchFaults(call: Call): MatchedFaults {
    const struck: Active[] = [];
    for (const active of this.active) {
      const { rpc, match, nth = 1, times = 1 } = active.fault;
      if (rpc !== call.rpc || (match && !match(call))) continue;
      active.seen++;
      if (active.seen >= nth && active.seen < nth + times) struck.push(active);
      if (active.seen >= nth + times - 1) this.active.delete(active);
    }
    return new MatchedFaults(call, struck);
  }
}
