import type { Firestore } from 'firebase-admin/firestore';
import { systemClock } from '../../src/lib/clock';
import { StoppedError } from '../../src/lib/errors';
import { createDatabase, type Database } from '../../src/lib/firestore/database';
import { createRequestContext, type RequestContext } from '../../src/lib/request-context';
import type { SeededRandom } from './random';

/**
 * A world in which processes run one step at a time, in an order that a seed decides.
 *
 * Every call of a process to Firestore stops at a gate, and every sleep waits for a virtual clock. Once all processes
 * stand still, one of them is let on: its call is carried out, by the real client against the embedded Firestore, alone; or
 * it fails before or after it was carried out, or is carried out later, or its process dies of it. So a schedule is one
 * order of calls out of all that could be, with what can go wrong at each, and the same seed makes the same one again.
 */

/** The probability of each fault at every call. */
export interface FaultRates {
  /** An error instead of the call. */
  before: number;
  /** An error after the call took effect. */
  after: number;
  /** An error now; the call takes effect at some later time. */
  late: number;
  /** The process dies, before or after the call takes effect. */
  crash: number;
  /** The process stands still for a time: often short, sometimes past every lease. */
  freeze: number;
  /** An error after which no retry helps. */
  permanent: number;
  /** The process is told to stop, as by SIGTERM, and is killed eight seconds later. */
  stop: number;
}

export const NO_FAULTS: FaultRates = { before: 0, after: 0, late: 0, crash: 0, freeze: 0, permanent: 0, stop: 0 };

const TRANSIENT = [1, 2, 4, 8, 10, 13, 14, 16];
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;

/** A process that serves one request, or runs one command. */
export interface Process {
  readonly name: string;
  /** Faults at its calls. */
  faultCount: number;
  /** Preconditions of its commits that did not hold. */
  conflicts: number;
  /** Milliseconds for which it was frozen. */
  frozenMs: number;
  /** Whether one of the faults was permanent. */
  permanent: boolean;
  state: 'running' | 'responded' | 'dead';
  /** Rejects with {@link ProcessCrashed} when the process dies. */
  readonly died: Promise<never>;
  readonly die: () => void;
  /** Tells the process to stop; undefined before it runs, and once it was told. */
  stop: (() => void) | undefined;
  stopped: boolean;
  readonly context: RequestContext;
  readonly db: Database;
}

/** Replaces a part of what the service runs with by one that is broken, for tests of the simulation. */
export interface BrokenParts {
  db?: (db: Database) => Database;
  context?: (context: RequestContext) => RequestContext;
}

interface Waiting {
  process: Process;
  /** When it may go on. */
  at: number;
  /** Whether the process stands still for it: not for its budget, which runs beside. */
  stands: boolean;
  /** What it waits for: its turn at a call, or the end of a sleep. */
  go: (rates: FaultRates) => Promise<void>;
}

/** The process that was waited for has died. */
export class ProcessCrashed extends Error {}

const MINUTE = 60_000;

/** How long the platform lets a process go on that was told to stop. */
const STOP_MS = 8_000;

export class Simulator {
  /** Virtual Unix milliseconds. */
  now = Date.UTC(2026, 0, 1);
  /** How many calls were carried out. */
  calls = 0;
  readonly trace: string[] = [];
  #waiting: Waiting[] = [];
  /** Calls that are still on their way though their sender was told that they failed. */
  #late: { process: Process; at: number; apply: () => Promise<unknown> }[] = [];
  /** What is at work between two gates. */
  readonly #running = new Set<object>();
  #stopped = false;

  constructor(
    readonly random: SeededRandom,
    readonly firestore: Firestore,
    /** Called with what no process may do. */
    readonly violated: (error: Error) => void,
    /** Called before a process writes entries. */
    readonly beforeEntries: (process: Process) => void,
    private readonly broken: BrokenParts = {},
  ) {}

  /** A process whose calls and sleeps are the world's; its clock is off by up to a few seconds. */
  process(name: string): Process {
    const skew = this.random.integer(-10_000, 10_000);
    const context = createRequestContext(new AbortController().signal);
    const real = createDatabase(this.firestore, context);
    const { promise: died, reject } = Promise.withResolvers<never>();
    died.catch(() => undefined);
    const gated: Database = {
      ...real,
      getAll: (...documents) =>
        this.#gate(process, `read ${short(documents[0]?.path)}`, () => real.getAll(...documents)),
      commit: (fill) => this.#gate(process, 'commit', () => real.commit(fill)),
      commitPriceEntries: (batch) => {
        if (process.state === 'running') this.beforeEntries(process);
        return this.#gate(process, `${batch.field} of entries`, () => real.commitPriceEntries(batch));
      },
    };
    const process: Process = {
      name,
      state: 'running',
      died,
      die: () => {
        process.state = 'dead';
        reject(new ProcessCrashed());
      },
      faultCount: 0,
      conflicts: 0,
      frozenMs: 0,
      permanent: false,
      stop: undefined,
      stopped: false,
      context: {
        signal: context.signal,
        counters: context.counters,
        random: () => this.random.next(),
        newToken: () => process.name,
        traceId: null,
        clock: {
          now: () => this.now + skew,
          createTimeout: systemClock.createTimeout,
          sleep: (ms, signal) => {
            signal.throwIfAborted();
            return new Promise((resolve, reject) => {
              const abort = () => reject(signal.reason as Error);
              const wake = () => {
                signal.removeEventListener('abort', abort);
                resolve();
                return Promise.resolve();
              };
              this.#waiting.push({ process, at: this.now + Math.ceil(ms), stands: true, go: wake });
              signal.addEventListener('abort', abort, { once: true });
            });
          },
        },
      },
      db: this.broken.db?.(gated) ?? gated,
    };
    return process;
  }

  /** Runs a process for at most `budgetMs`; resolves with what comes of it, rejects with {@link ProcessCrashed} when it dies. */
  async run<T>(process: Process, budgetMs: number, work: (context: RequestContext) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const endBudget = () => {
      controller.abort(new DOMException('simulated end of the budget', 'TimeoutError'));
      return Promise.resolve();
    };
    const timers: Waiting[] = [{ process, at: this.now + budgetMs, stands: false, go: endBudget }];
    this.#waiting.push(...timers);
    process.stop = () => {
      process.stop = undefined;
      process.stopped = true;
      controller.abort(new StoppedError('simulated SIGTERM'));
      const kill = () => {
        this.#note(process, 'killed');
        this.#kill(process);
        return Promise.resolve();
      };
      const timer = { process, at: this.now + STOP_MS, stands: false, go: kill };
      timers.push(timer);
      this.#waiting.push(timer);
    };
    this.#running.add(process);
    try {
      const context = { ...process.context, signal: controller.signal };
      return await Promise.race([work(this.broken.context?.(context) ?? context), process.died]);
    } finally {
      process.stop = undefined;
      if (process.state === 'running') process.state = 'responded';
      this.#running.delete(process);
      this.#waiting = this.#waiting.filter((waiting) => !timers.includes(waiting));
    }
  }

  /** Has the world stand still while something is looked at. */
  async whilePaused<T>(look: () => Promise<T>): Promise<T> {
    const looking = {};
    this.#running.add(looking);
    try {
      return await look();
    } finally {
      this.#running.delete(looking);
    }
  }

  /** Ends {@link Simulator.runUntilIdle}, and leaves everything where it stands. */
  stop(): void {
    this.#stopped = true;
  }

  /** Lets processes on, one after another, until all have ended. */
  async runUntilIdle(rates: FaultRates): Promise<void> {
    while (!this.#stopped) {
      await this.#standstill();
      const due = this.#waiting.filter(({ at }) => at <= this.now);
      const late = this.#late.filter(({ at }) => at <= this.now);
      if (due.length + late.length === 0) {
        const next = Math.min(...[...this.#waiting, ...this.#late].map(({ at }) => at));
        if (next === Infinity) return;
        this.now = next;
        continue;
      }
      const chosen = this.random.integer(0, due.length + late.length - 1);
      const waiting = due[chosen];
      const landing = late[chosen - due.length];
      if (waiting !== undefined) {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        await waiting.go(rates);
      } else if (landing !== undefined) {
        this.#late.splice(this.#late.indexOf(landing), 1);
        await landing.apply().catch((error: unknown) => this.#note(landing.process, `late, refused ${codeOf(error)}`));
      }
    }
    // What was let on comes to its next gate, and makes no call after the end of the schedule.
    await this.#standstill();
  }

  /** Waits until every process that runs has come to a gate or a sleep. */
  async #standstill(): Promise<void> {
    do {
      for (let turns = 0; turns < 2; turns += 1) await turn();
    } while (
      [...this.#running].some(
        (process) => !this.#waiting.some((waiting) => waiting.stands && waiting.process === process),
      )
    );
  }

  #gate<T>(process: Process, what: string, call: () => Promise<T>): Promise<T> {
    if (process.state === 'dead') return new Promise<never>(() => undefined);
    if (process.state === 'responded') this.violated(new Error(`${process.name} goes on after its response: ${what}`));
    return new Promise<T>((resolve, reject) => {
      const fail = (code: number, note: string) => {
        this.#note(process, `${what}: ${note} ${code}`);
        process.faultCount += 1;
        reject(Object.assign(new Error(`simulated ${note}`), { code }));
      };
      const apply = async () => {
        this.calls += 1;
        return call();
      };
      const go = async (rates: FaultRates): Promise<void> => {
        const { random } = this;
        if (process.stop !== undefined && random.chance(rates.stop)) {
          this.#note(process, `${what}: told to stop`);
          process.stop();
        }
        if (random.chance(rates.freeze)) {
          const ms = random.pick([1_000, 10_000, 2 * MINUTE, 25 * MINUTE]);
          this.#note(process, `${what}: frozen for ${ms / 1000} s`);
          process.frozenMs += ms;
          const until = this.now + ms;
          this.#waiting.push({ process, at: until, stands: true, go });
          for (const waiting of this.#waiting)
            if (waiting.process === process) waiting.at = Math.max(waiting.at, until);
        } else if (random.chance(rates.crash)) {
          const applied = random.chance(0.5);
          if (applied) await apply().catch(() => undefined);
          this.#note(process, `${what}: crash ${applied ? 'after' : 'before'}`);
          this.#kill(process);
        } else if (random.chance(rates.permanent)) {
          process.permanent = true;
          fail(PERMISSION_DENIED, 'refused');
        } else if (random.chance(rates.before)) fail(random.pick(TRANSIENT), 'error before');
        else if (random.chance(rates.late)) {
          const at = this.now + random.pick([10, 1_000, MINUTE, 30 * MINUTE]);
          this.#late.push({ process, at, apply });
          fail(DEADLINE_EXCEEDED, 'late');
        } else
          await this.#carryOut(process, what, apply, random.chance(rates.after) ? fail : undefined, resolve, reject);
      };
      this.#waiting.push({ process, at: this.now, stands: true, go });
    });
  }

  async #carryOut<T>(
    process: Process,
    what: string,
    apply: () => Promise<T>,
    fail: ((code: number, note: string) => void) | undefined,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    let value: T;
    try {
      value = await apply();
    } catch (error) {
      this.#note(process, `${what}: refused ${codeOf(error)}`);
      process.conflicts += 1;
      reject(error);
      return;
    }
    if (fail !== undefined) {
      fail(this.random.pick(TRANSIENT), 'error after');
      return;
    }
    this.#note(process, what);
    resolve(value);
  }

  #kill(process: Process): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.process !== process);
    process.die();
  }

  #note(process: Process, text: string): void {
    this.trace.push(`${new Date(this.now).toISOString().slice(11, 23)} ${process.name.padEnd(12)} ${text}`);
  }

  note(process: Process, text: string): void {
    this.#note(process, text);
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const short = (path = '') => path.replace(/\/(.{6})[^/]*$/, '/$1');

const codeOf = (error: unknown): string => String((error as { code?: number }).code ?? error);
