import type { DocumentReference, Firestore } from 'firebase-admin/firestore';
import type { Clock } from '../../functions/src/lib/clock';
import { StoppedError } from '../../functions/src/lib/errors';
import { CALL_TIMEOUTS_MS, STOP_RESERVE_MS } from '../../functions/src/lib/time-limits';
import { createCalls, Database, type DatabaseCalls, type Writes } from '../../functions/src/lib/firestore/database';
import type { KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { createWorkContext, type WorkContext } from '../../functions/src/lib/work-context';
import type { Random } from '../../dev/random';

/**
 * Runs simulated processes one step at a time, in an order that a seed decides. Each call to
 * Firestore waits at a gate, and each sleep or timeout outside a call waits for a virtual clock. Once all processes
 * wait, one continues, or a delayed call takes effect. A process that waited at a gate then makes its call alone against the
 * embedded Firestore, or the call meets a fault.
 */

/** The probability of each fault at every call. Here, no fault occurs. */
export const NO_FAULTS = {
  /** An error instead of the call. */
  before: 0,
  /** An error after the call took effect. */
  after: 0,
  /** No reply until the call's own timeout. For a time, repeats of that call get no reply either. */
  hang: 0,
  /** No reply to one call, at most once in each process. */
  singleHang: 0,
  /** The process dies, before or after the call takes effect. */
  crash: 0,
  /** The process is frozen for a time. */
  freeze: 0,
  /** An error that is not retried. */
  permanent: 0,
  /** The process is told to stop, and is killed if it still runs some seconds later. */
  stop: 0,
};

export type FaultRates = typeof NO_FAULTS;

const TRANSIENT = [1, 2, 4, 8, 10, 13, 14, 16];
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;

/** A process that serves one request, or runs one command or sweep. Each client, operator and series of sweeps also has a process, which only sleeps. */
export class Process {
  /** Number of calls of the process that failed because of an injected error or a hang. */
  faultCount = 0;
  /** Number of calls that Firestore rejected, such as commits whose precondition failed. */
  conflicts = 0;
  /** Milliseconds for which the process was frozen or waited for replies that never came. */
  lostMs = 0;
  permanent = false;
  state: 'running' | 'responded' | 'dead' = 'running';
  /** Tells the process to stop. Undefined unless the process runs and has not been told to stop. */
  stop: (() => void) | undefined;
  stopped = false;
  /** The virtual time until which a call gets no reply, by its description in the trace. */
  readonly hangs = new Map<string, number>();
  readonly ending = new AbortController();
  /** Its promise rejects with {@link ProcessCrashed} when the process dies. */
  readonly death = Promise.withResolvers<never>();
  context!: WorkContext;
  db!: Database;

  constructor(readonly name: string) {
    this.death.promise.catch(() => undefined);
  }
}

/** Returns whether a process owns a key. The owner tokens of a process are its name, a slash and a number. */
export const isOwner = ({ name }: Process, key: Pick<KeyRecord, 'owner'> | undefined): boolean =>
  key?.owner.split('/')[0] === name;

export function getPaths(addWrites: (writes: Writes) => void): string[] {
  const paths: string[] = [];
  const note = ({ path }: DocumentReference) => void paths.push(path);
  addWrites({ create: note, set: note, update: note } as unknown as Writes);
  return paths;
}

interface Waiting {
  process: Process;
  /** The virtual time from which the process can continue. */
  at: number;
  /** Whether the process waits until `go` is called. False for a timeout, which runs beside the work of the process. */
  isBlocking: boolean;
  /** Makes the call, fails the call that hangs, or ends the sleep or timeout. */
  go: (rates: FaultRates) => unknown;
}

interface GatedCall {
  process: Process;
  /** Description of the call in the trace. */
  what: string;
  timeoutMs: number;
  apply: () => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export class ProcessCrashed extends Error {}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A process that still runs this long after it is told to stop is killed. Until then, it can use STOP_RESERVE_MS to fail its attempt. */
const STOP_MS = 4 * SECOND;

/** Small enough that a handful of products needs several batches and several chunks. */
const SIZES = { batchEntries: 3, chunkBytes: 90 };

/** For how long a process can be frozen. The longest times exceed every lease. */
const FREEZES_MS = [SECOND, 10 * SECOND, 50 * SECOND, 2 * MINUTE, 25 * MINUTE];

/** For how long a call gets no reply, however often the process repeats it. */
const HANGS_MS = [SECOND, 15 * SECOND, 51 * SECOND, 2 * MINUTE, 25 * MINUTE];

/** Delays after which a call that hangs can still take effect. */
const DELAYS_MS = [10, SECOND, 15 * SECOND, MINUTE, 30 * MINUTE];

/** The time of Firestore and of the running schedule, in Unix milliseconds. */
export const virtualTime = { now: 0 };

/** The largest fraction by which the clock of a process runs too fast or too slow. */
const MAX_CLOCK_DRIFT = 0.01;

export class Simulator {
  /** The process whose call is running. */
  acting: Process | undefined;
  readonly trace: string[] = [];
  #waiting: Waiting[] = [];
  /** Calls that take effect after a delay, although their process gets no reply. */
  #late: { process: Process; at: number; apply: () => Promise<unknown> }[] = [];
  /** Processes that are running, and checks that pause the simulation. */
  readonly #running = new Set<object>();
  #stopped = false;

  constructor(
    readonly random: Random,
    readonly firestore: Firestore,
    /** Called when a process calls Firestore after its response. */
    readonly violated: (error: Error) => void,
    /** Called with the paths of entries before a process writes them. */
    readonly beforeEntries: (process: Process, paths: readonly string[]) => void,
  ) {
    virtualTime.now = Date.UTC(2026, 0, 1);
  }

  get now(): number {
    return virtualTime.now;
  }

  /** Creates a process whose calls and timers this simulator controls. */
  process(name: string): Process {
    const startMs = this.random.int(0, 1e12);
    const createdAt = this.now;
    /** How many milliseconds the clock of this process counts in one millisecond of Firestore's clock. */
    const rate = 1 + MAX_CLOCK_DRIFT * (2 * this.random.next() - 1);
    // Real clock: the timeouts inside a call must not advance virtual time.
    const real = createWorkContext(new AbortController().signal);
    let tokens = 0;
    const process = new Process(name);
    const clock: Clock = {
      elapsedMs: () => startMs + (this.now - createdAt) * rate,
      sleep: (ms, signal) => this.#sleep(process, ms / rate, signal),
      createTimeout: (ms, createReason, ...parents) => {
        const controller = new AbortController();
        const cancel = this.#startTimer(process, ms / rate, () => controller.abort(createReason()));
        return { signal: AbortSignal.any([controller.signal, ...parents]), cancel };
      },
    };
    const newToken = () => `${name}/${(tokens += 1)}`;
    const random = () => this.random.next();
    const context = { ...real, clock, random, newToken, sizes: SIZES, signal: process.ending.signal };
    process.context = context;
    const calls = this.#gateCalls(createCalls(this.firestore, real.clock), process);
    process.db = new Database(this.firestore, process.context, calls);
    return process;
  }

  /** Runs the work of a process, and aborts it after `budgetMs`. @throws the error of `work`, or ProcessCrashed when the process dies */
  async run<T>(process: Process, budgetMs: number, work: () => Promise<T>): Promise<T> {
    const { ending } = process;
    const endBudget = () => ending.abort(new DOMException('simulated end of the budget', 'TimeoutError'));
    const cancels = [this.#startTimer(process, budgetMs, endBudget)];
    process.stop = () => {
      process.stop = undefined;
      process.stopped = true;
      ending.abort(new StoppedError('simulated SIGTERM', STOP_RESERVE_MS));
      const kill = () => {
        this.note(process, 'killed');
        this.#kill(process);
      };
      cancels.push(this.#startTimer(process, STOP_MS, kill));
    };
    this.#running.add(process);
    try {
      return await Promise.race([work(), process.death.promise]);
    } finally {
      process.stop = undefined;
      if (process.state === 'running') process.state = 'responded';
      this.#running.delete(process);
      for (const cancel of cancels) cancel();
    }
  }

  /** Pauses all processes until `look` has finished. */
  async whilePaused<T>(look: () => Promise<T>): Promise<T> {
    const looking = {};
    this.#running.add(looking);
    try {
      return await look();
    } finally {
      this.#running.delete(looking);
    }
  }

  /** Ends {@link Simulator.runUntilIdle}. Processes that wait do not continue. */
  stop(): void {
    this.#stopped = true;
  }

  /** Lets one process continue at a time, until all have ended or {@link Simulator.stop} is called. */
  async runUntilIdle(rates: FaultRates): Promise<void> {
    while (!this.#stopped) {
      await this.#waitForStandstill();
      const due = this.#waiting.filter(({ at }) => at <= this.now);
      const late = this.#late.filter(({ at }) => at <= this.now);
      if (due.length + late.length === 0) {
        const next = Math.min(...[...this.#waiting, ...this.#late].map(({ at }) => at));
        if (next === Infinity) return;
        virtualTime.now = next;
        continue;
      }
      const chosen = this.random.int(0, due.length + late.length - 1);
      const waiting = due[chosen];
      const landing = late[chosen - due.length];
      if (waiting !== undefined) {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        await waiting.go(rates);
      } else if (landing !== undefined) {
        this.#late.splice(this.#late.indexOf(landing), 1);
        await landing.apply().catch((error: unknown) => this.note(landing.process, `late, refused ${codeOf(error)}`));
      }
    }
    // Waits until the process that continued last reaches its next gate, so that it makes no call after the schedule.
    await this.#waitForStandstill();
  }

  note(process: Process, text: string): void {
    this.trace.push(`${new Date(this.now).toISOString().slice(11, 23)} ${process.name.padEnd(12)} ${text}`);
  }

  /** Waits until every running process is at a gate or asleep, and no check pauses the simulation. */
  async #waitForStandstill(): Promise<void> {
    do {
      for (let turns = 0; turns < 2; turns += 1) await turn();
    } while (
      [...this.#running].some(
        (process) => !this.#waiting.some((waiting) => waiting.isBlocking && waiting.process === process),
      )
    );
  }

  /** @returns a function that cancels the timer */
  #startTimer(process: Process, ms: number, end: () => void): () => void {
    const timer = { process, at: this.now + Math.ceil(ms), isBlocking: false, go: end };
    this.#waiting.push(timer);
    return () => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== timer);
    };
  }

  #sleep(process: Process, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason as Error);
      const go = () => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      this.#waiting.push({ process, at: this.now + Math.ceil(ms), isBlocking: true, go });
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  #gateCalls(real: DatabaseCalls, process: Process): DatabaseCalls {
    const gateRead = <T>(what: string, call: () => Promise<T>) =>
      this.#gate(process, what, CALL_TIMEOUTS_MS.read, call);
    return {
      getAll: (...documents) => gateRead(`read ${short(documents[0]?.path)}`, () => real.getAll(...documents)),
      get: (query) => gateRead('query', () => real.get(query)),
      count: (query, timeoutMs) => gateRead('count', () => real.count(query, timeoutMs)),
      commit: (addWrites) => {
        const paths = getPaths(addWrites);
        const what = describeCommit(paths);
        if (what.startsWith('entries') && process.state === 'running') this.beforeEntries(process, paths);
        return this.#gate(process, what, CALL_TIMEOUTS_MS.commit, () => real.commit(addWrites));
      },
    };
  }

  #gate<T>(process: Process, what: string, timeoutMs: number, carryOut: () => Promise<T>): Promise<T> {
    if (process.state === 'dead') return new Promise<never>(() => undefined);
    if (process.state === 'responded') this.violated(new Error(`${process.name} goes on after its response: ${what}`));
    const apply = async () => {
      this.acting = process;
      try {
        return await carryOut();
      } finally {
        this.acting = undefined;
      }
    };
    return new Promise<T>((resolve, reject) => {
      const call = { process, what, timeoutMs, apply, resolve: resolve as GatedCall['resolve'], reject };
      const go = (rates: FaultRates) => this.#proceed(call, rates);
      this.#waiting.push({ process, at: this.now, isBlocking: true, go });
    });
  }

  async #proceed(call: GatedCall, rates: FaultRates): Promise<void> {
    const { process, what, apply } = call;
    const { random } = this;
    if (process.stop !== undefined && random.chance(rates.stop)) {
      this.note(process, `${what}: told to stop`);
      process.stop();
    }
    if (random.chance(rates.freeze)) this.#freeze(call, random.pick(FREEZES_MS));
    else if (random.chance(rates.crash)) {
      const isApplied = random.chance(0.5);
      if (isApplied) await apply().catch(() => undefined);
      this.note(process, `${what}: crash ${isApplied ? 'after' : 'before'}`);
      this.#kill(process);
    } else if (this.now < (process.hangs.get(what) ?? 0)) await this.#hang(call);
    else if (random.chance(rates.hang)) {
      process.hangs.set(what, this.now + random.pick(HANGS_MS));
      await this.#hang(call);
    } else if (process.lostMs === 0 && random.chance(rates.singleHang)) await this.#hang(call);
    else if (random.chance(rates.permanent)) {
      process.permanent = true;
      this.#fail(call, PERMISSION_DENIED, 'refused');
    } else if (random.chance(rates.before)) this.#fail(call, random.pick(TRANSIENT), 'error before');
    else await this.#carryOut(call, random.chance(rates.after));
  }

  /** Freezes the process for `ms` of virtual time, in which none of its timers fires. The call proceeds after that time. */
  #freeze(call: GatedCall, ms: number): void {
    const { process, what } = call;
    this.note(process, `${what}: frozen for ${ms / SECOND} s`);
    process.lostMs += ms;
    const until = this.now + ms;
    this.#waiting.push({ process, at: until, isBlocking: true, go: (rates) => this.#proceed(call, rates) });
    for (const waiting of this.#waiting) if (waiting.process === process) waiting.at = Math.max(waiting.at, until);
  }

  /** Gives no reply until the call's own timeout. The call takes effect at once, later or never. */
  async #hang(call: GatedCall): Promise<void> {
    const { process, timeoutMs, apply } = call;
    const effect = this.random.pick(['at once', 'late', 'never'] as const);
    if (effect === 'at once') await apply().catch(() => undefined);
    if (effect === 'late') this.#late.push({ process, at: this.now + this.random.pick(DELAYS_MS), apply });
    process.lostMs += timeoutMs;
    const go = () => this.#fail(call, DEADLINE_EXCEEDED, `no reply in ${timeoutMs / SECOND} s, effect ${effect},`);
    this.#waiting.push({ process, at: this.now + timeoutMs, isBlocking: true, go });
  }

  #fail({ process, what, reject }: GatedCall, code: number, note: string): void {
    this.note(process, `${what}: ${note} ${code}`);
    process.faultCount += 1;
    reject(Object.assign(new Error(`simulated ${note}`), { code }));
  }

  async #carryOut(call: GatedCall, isReplyLost: boolean): Promise<void> {
    const { process, what, apply, resolve, reject } = call;
    let value: unknown;
    try {
      value = await apply();
    } catch (error) {
      this.note(process, `${what}: refused ${codeOf(error)}`);
      process.conflicts += 1;
      reject(error);
      return;
    }
    if (isReplyLost) {
      this.#fail(call, this.random.pick(TRANSIENT), 'error after');
      return;
    }
    this.note(process, what);
    resolve(value);
  }

  #kill(process: Process): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.process !== process);
    process.state = 'dead';
    process.death.reject(new ProcessCrashed());
  }
}

/** Returns the name of a commit. Commits with the same name hang together, so a renewal can succeed while entries hang. */
function describeCommit(paths: readonly string[]): string {
  const [first = ''] = paths;
  if (first.includes('/products/')) return `entries of ${first.split('/', 1)[0]}`;
  return paths.some((path) => path.includes('/price_list_payload/')) ? 'claim' : 'commit';
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const short = (path = '') => path.replace(/\/(.{6})[^/]*$/, '/$1');

const codeOf = (error: unknown): string => String((error as { code?: number }).code ?? error);
