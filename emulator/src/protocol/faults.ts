import { RpcError, type Code } from './errors';
import type { Requests, Rpc } from './requests';

/** A call as tests see it. */
export interface Call<K extends Rpc = Rpc> {
  readonly rpc: K;
  readonly project: string;
  readonly database: string;
  /** The decoded request. Documents have full resource names, and maps are Maps. */
  readonly request: Requests[K];
}

/**
 * A call that the server has finished. Two outcomes are not a status: `DROPPED` destroyed the connection, and a call that is
 * `HUNG` stays open for the client.
 */
export interface EndedCall extends Call {
  readonly outcome: Code | 'DROPPED' | 'HUNG';
}

/** The effect of a fault on a call. The call continues only after `delay` and `call`. */
export type FaultAction<K extends Rpc = Rpc> =
  /** Ends the call with an error. */
  | { readonly kind: 'error'; readonly code: Code; readonly message?: string }
  /** Destroys the connection, with all other calls on it. */
  | { readonly kind: 'drop' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Never ends the response. */
  | { readonly kind: 'hang' }
  /** Runs a function, and waits if it returns a promise. The function can kill a process, inspect the data, or hold the call. */
  | { readonly kind: 'call'; readonly run: (call: Call<K>) => unknown };

/** An action, and the calls to which it applies. */
export interface Fault<K extends Rpc = Rpc> {
  readonly rpc: K;
  /** Counts only calls for which this function returns true. */
  readonly match?: (call: Call<K>) => boolean;
  /** The number of the first affected call among those that match. The default is 1. */
  readonly nth?: number;
  /** The number of consecutive matching calls that the fault affects. The default is 1. */
  readonly times?: number;
  /**
   * When the fault applies: before the call takes effect (the default), after the effect but before the response ends, or after the
   * given number of response messages.
   */
  readonly when?: 'before' | 'after' | { readonly messages: number };
  readonly action: FaultAction<K>;
}

/** Observes and removes an injected fault. */
export interface InjectedFault {
  /** How many calls the fault has affected. */
  readonly count: number;
  /** Resolves with the first affected call, as soon as the fault applies to this call. */
  readonly fired: Promise<Call>;
  /** Removes the fault. It still applies to calls that it has already matched. */
  remove(): void;
}

/** Thrown to end a call without a status. */
export class NoResponse extends Error {
  constructor(readonly kind: 'DROPPED' | 'HUNG') {
    super(kind);
  }
}

interface ActiveFault {
  readonly fault: Fault;
  seen: number;
  count: number;
  readonly fire: (call: Call) => void;
}

/**
 * Applies the faults of one call at a point. A number is the count of messages sent so far. Returns undefined if no fault applies.
 * @throws RpcError or NoResponse if a fault ends the call, and whatever the function of a `call` action throws
 */
export type ApplyFaults = (point: 'before' | 'after' | number) => Promise<void> | undefined;

async function applyAll(due: readonly ActiveFault[], call: Call): Promise<void> {
  for (const active of due) await applyFault(active, call);
}

async function applyFault(active: ActiveFault, call: Call): Promise<void> {
  const { action } = active.fault;
  active.count++;
  active.fire(call);
  switch (action.kind) {
    case 'error':
      throw new RpcError(action.code, action.message ?? `injected ${action.code}`);
    case 'drop':
      throw new NoResponse('DROPPED');
    case 'hang':
      throw new NoResponse('HUNG');
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, action.ms));
      return;
    case 'call':
      await action.run(call);
  }
}

/** The injected faults. Each counts the calls that match it. */
export class Faults {
  private readonly active = new Set<ActiveFault>();

  /** Injects a fault, which counts matching calls from the next one on. */
  inject<K extends Rpc>(fault: Fault<K>): InjectedFault {
    let fire: (call: Call) => void = () => undefined;
    const fired = new Promise<Call>((resolve) => (fire = resolve));
    // The types agree, because a fault is applied to calls of its own RPC only.
    const active: ActiveFault = { fault: fault as unknown as Fault, seen: 0, count: 0, fire };
    this.active.add(active);
    return {
      get count() {
        return active.count;
      },
      fired,
      remove: () => void this.active.delete(active),
    };
  }

  clear(): void {
    this.active.clear();
  }

  /** Counts a new call for each fault that it matches. Returns the function that applies the faults of this call. */
  matchFaults(call: Call): ApplyFaults {
    const matched: ActiveFault[] = [];
    for (const active of this.active) {
      const { rpc, match, nth = 1, times = 1 } = active.fault;
      if (rpc !== call.rpc || (match && !match(call))) continue;
      active.seen++;
      if (active.seen >= nth && active.seen < nth + times) matched.push(active);
      if (active.seen >= nth + times - 1) this.active.delete(active);
    }
    return (point) => {
      const due = matched.filter(({ fault: { when = 'before' } }) =>
        typeof when === 'object' ? when.messages === point : when === point,
      );
      return due.length === 0 ? undefined : applyAll(due, call);
    };
  }
}
