import assert from 'node:assert/strict';
import type { Firestore } from 'firebase-admin/firestore';
import { retry } from '../../functions/src/lib/firestore/retry';
import { keyDocument, readKey } from '../../functions/src/lib/repositories/keys';
import { writeOptions } from '../../functions/src/lib/runtime-options';
import type { PriceListSubmission } from '../../functions/src/lib/schemas/add-price-lists';
import { getTimeLimitMs } from '../../functions/src/lib/time-limits';
import { createPriceLists } from '../../functions/src/price-lists/create';
import { computeFingerprint } from '../../functions/src/price-lists/payload';
import { release, ResolutionError, resume } from '../../command/cli/resolve';
import { sweep, type SweepReporter } from '../../functions/src/price-lists/sweep';
import type { EmbeddedFirestore } from '../../emulator/src';
import { createRandom, spreadSeed, type Random } from '../../dev/random';
import { checkInvariants } from '../harness/invariants';
import { KeyMonitor } from '../harness/monitor';
import { TEST_REQUEST } from '../harness/price-lists';
import { parseSubmission } from '../harness/submissions';
import { getResultName, isUndisturbed, ResponseModel, toClientResult, type ClientResult } from './model';
import { isOwner, NO_FAULTS, ProcessCrashed, Simulator, type FaultRates, type Process } from './world';

/**
 * In a schedule, clients repeat requests, operators resume and release keys, sweeps run, and calls
 * fail. Then the faults end (only a call of a sweep can still hang), and every key must be completed. The
 * monitor checks every commit to key records and lists.
 */

export class InvariantViolation extends Error {
  constructor(
    readonly seed: number,
    readonly trace: readonly string[],
    cause: unknown,
  ) {
    super(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The time after which add price lists stops itself in production. Here, sweeps and operators have the same time. */
const BUDGET_MS = getTimeLimitMs(writeOptions, true);

/** Runs the schedule of a seed against an empty database. @returns the lines of the trace @throws InvariantViolation */
export async function runSchedule(
  seed: number,
  db: Firestore,
  embedded: EmbeddedFirestore,
): Promise<readonly string[]> {
  const schedule = new Schedule(seed, db, embedded);
  try {
    await schedule.run();
  } catch (cause) {
    throw new InvariantViolation(seed, schedule.trace ?? schedule.world.trace, cause);
  } finally {
    schedule.history.stop();
  }
  return schedule.world.trace;
}

class Schedule {
  readonly world: Simulator;
  readonly #random: Random;
  readonly #db: Firestore;
  readonly #submissions: PriceListSubmission[];
  readonly history: KeyMonitor;
  readonly #model: ResponseModel;
  readonly #keys: readonly string[];
  /** What sweeps reported: a key, and the start of the period in which it needed an operator. */
  readonly #reports = new Set<string>();
  #failure: unknown;
  /** The trace until the first failure. */
  trace: string[] | undefined;
  #processes = 0;

  constructor(seed: number, db: Firestore, embedded: EmbeddedFirestore) {
    this.#random = createRandom(spreadSeed(seed));
    this.#db = db;
    this.#keys = ['boq-1', 'boq-2', 'boq-3'].slice(0, this.#random.pick([1, 1, 1, 2, 3]));
    this.#submissions = this.#keys.flatMap((key) => this.#createPayloads(key));
    const getNow = () => this.world.now;
    const getActor = () => this.world.acting?.name;
    this.history = new KeyMonitor(embedded, this.#fail, getActor);
    this.#model = new ResponseModel(() => this.#checkStored(), this.history, getNow);
    this.world = new Simulator(this.#random, db, this.#fail, this.#checkLease);
  }

  async run(): Promise<void> {
    await this.#db.doc('markets/market').set({ name: { en: 'A market' }, country_iso: 'egy', currency_iso: 'egp' });
    const { int, pick } = this.#random;
    const start = (count: number, create: (number: number) => Promise<void>) =>
      Array.from({ length: count }, (_, i) => create(i + 1).catch(this.#fail));
    const actors = [
      ...start(int(2, 6), (number) => this.#runClient(`client-${number}`)),
      // An operator resumes or releases keys even when no operator is needed.
      ...start(pick([0, 1, 2]), (number) =>
        this.#repeat(`operator-${number}`, 4, [SECOND, MINUTE, 30 * MINUTE], (name) =>
          this.#resolve(pick(this.#keys), pick(['resume', 'release']), name),
        ),
      ),
      ...start(pick([0, 1, 2]), (number) =>
        this.#repeat(`sweep-${number}`, 6, [SECOND, 30 * SECOND, 30 * SECOND, 5 * MINUTE], (name) => this.#sweep(name)),
      ),
    ];
    await this.#runPhase(this.#createFaultRates(), () => Promise.all(actors));
    await this.#checkStored();
    await this.#end();
  }

  #checkStored(): Promise<unknown> {
    return checkInvariants(this.#db, this.#submissions);
  }

  readonly #fail = (error: unknown): void => {
    if (this.trace !== undefined) return;
    this.#failure = error;
    this.trace = [...this.world.trace];
    this.world.stop();
  };

  #createPayloads(boq_list_id: string): PriceListSubmission[] {
    const { pick, chance, int } = this.#random;
    const market_id = chance(0.2) ? 'nowhere' : 'market';
    // This number of products makes one or more batches and chunks, whose sizes world.ts sets.
    const count = int(1, 7);
    return (chance(0.4) ? ['one', 'other'] : ['one']).map((name) => {
      const price = pick([1, 2.5]);
      const products = Object.fromEntries(
        Array.from({ length: count }, (_, i) => [
          `p${i}`,
          { price_list_price: i + price, expected_forward_cost_price: i },
        ]),
      );
      return parseSubmission({
        info: { market_id, boq_list_id, currency_iso: 'usd', date: '06/2026', name },
        products,
      });
    });
  }

  #createFaultRates(): FaultRates {
    const { pick } = this.#random;
    const errors = () => pick([0, 0.05, 0.2, 0.4]);
    return {
      before: errors(),
      after: errors(),
      hang: pick([0, 0.02, 0.1]),
      singleHang: 0,
      freeze: pick([0, 0.1, 0.3]),
      crash: pick([0, 0, 0.03, 0.1]),
      permanent: pick([0, 0, 0, 0.02]),
      stop: pick([0, 0, 0.03, 0.1]),
    };
  }

  /** Sends one submission up to four times, whatever the responses are. */
  async #runClient(name: string): Promise<void> {
    const { pick, int } = this.#random;
    const submission = pick(this.#submissions);
    const requests = int(1, 4);
    const pauses = Array.from({ length: requests }, () => pick([0, 0, 100, SECOND, 30 * SECOND, 30 * MINUTE]));
    const timeoutMs = pick([HOUR, HOUR, 5 * SECOND, 10 * MINUTE]);
    const self = this.world.process(name);
    for (const pause of pauses) {
      await self.context.clock.sleep(pause, NEVER);
      // A client can disconnect. The process continues without it.
      await Promise.race([this.#sendRequest(submission), self.context.clock.sleep(timeoutMs, NEVER)]);
    }
  }

  /** Sends a submission to a new process and checks the response. */
  async #sendRequest(submission: PriceListSubmission): Promise<string> {
    const process = this.world.process(`request-${(this.#processes += 1)}`);
    const { boq_list_id } = submission.info;
    const mark = this.history.mark(boq_list_id);
    this.world.note(process, `submits ${submission.info.name} for ${boq_list_id}`);
    let result: ClientResult;
    try {
      const create = () => createPriceLists(submission, TEST_REQUEST, process.db);
      result = { kind: 'stored', ...(await this.world.run(process, BUDGET_MS, create)) };
    } catch (error) {
      result = toClientResult(error);
    }
    const name = getResultName(result);
    this.world.note(process, `got ${name}`);
    // The response is checked even if the client has disconnected.
    const check = () => this.#model.assertResponse({ submission, process, result, mark });
    await this.world.whilePaused(check).catch(this.#fail);
    return name;
  }

  readonly #checkLease = (process: Process, [path = '']: readonly string[]): void => {
    const [, list = ''] = path.split('/');
    for (const record of this.#keys.flatMap((key) => this.history.now(key) ?? [])) {
      const isOwn = record.status === 'processing' && isOwner(process, record);
      if (isOwn && Object.values(record.lists ?? {}).includes(list) && this.world.now >= record.lease_expires_at)
        this.#fail(new Error(`${process.name} writes entries after its lease expired`));
    }
  };

  /** Calls `act` up to `maxTimes` times, each after a pause. @param act receives a new process name for each call */
  async #repeat(name: string, maxTimes: number, pausesMs: number[], act: (name: string) => Promise<unknown>) {
    const self = this.world.process(name);
    const times = this.#random.int(1, maxTimes);
    for (let i = 1; i <= times; i += 1) {
      await self.context.clock.sleep(this.#random.pick(pausesMs), NEVER);
      await act(`${name}-${i}`);
    }
  }

  async #resolve(key: string, how: 'resume' | 'release', name: string): Promise<void> {
    const process = this.world.process(name);
    const decision = { by: name, reason: null };
    try {
      await this.world.run(process, BUDGET_MS, async () => {
        const { db } = process;
        const { record } = await retry(() => readKey(db, keyDocument(db, key)), db.context, 'outage');
        // No request has claimed the key yet, so there is nothing to resolve.
        if (record === undefined) throw new ResolutionError('key_deleted');
        assert(record !== 'unreadable', 'every key record can be read');
        if (how === 'resume') await resume(record, decision, db);
        else await release(record, decision, db);
      });
      this.world.note(process, `${how}d ${key}`);
    } catch (error) {
      this.world.note(process, `could not ${how} ${key}: ${String(error)}`);
      if (error instanceof ProcessCrashed || error instanceof ResolutionError) return;
      assert(!isUndisturbed(process), `the retries of an operator overcome what they can: ${String(error)}`);
    }
  }

  async #sweep(name: string): Promise<void> {
    const process = this.world.process(name);
    const reporter: SweepReporter = {
      onResult: ({ result, reason }, { boq_list_id }) => {
        this.world.note(process, `${boq_list_id} ${result}: ${reason ?? ''}`);
        if (result === 'left') this.#checkReport(boq_list_id, process);
      },
      onUnreadable: (path) => this.#fail(new Error(`${path} cannot be read`)),
    };
    try {
      await this.world.run(process, BUDGET_MS, () => sweep(process.db, reporter));
    } catch (error) {
      this.world.note(process, `could not sweep: ${String(error)}`);
      const isCrash = error instanceof ProcessCrashed;
      assert(isCrash || !isUndisturbed(process), `the retries of a sweep overcome what they can: ${String(error)}`);
    }
  }

  #checkReport(key: string, process: Process): void {
    const start = this.history.getReviewStart(key);
    if (start === undefined) this.#fail(new Error(`${process.name} reports ${key}, which needs no operator`));
    else this.#reports.add(`${key} since ${start}`);
  }

  /**
   * Ends the schedule. Sweeps run every full minute, and one call of each can hang. They complete the keys that
   * need no operator. An operator resolves the others. Then a request with the payload of a key gets 200.
   */
  async #end(): Promise<void> {
    const singleHang = this.#random.pick([0, 0.1, 0.3]);
    await this.#runPhase({ ...NO_FAULTS, singleHang }, () => this.#heal());
    await this.#runPhase(NO_FAULTS, async () => {
      for (const key of this.#keys) await this.#endKey(key);
    });
    await this.#checkStored();
  }

  async #runPhase(rates: FaultRates, run: () => Promise<unknown>): Promise<void> {
    const ended = run().catch((error: unknown) => (this.#failure ??= error));
    await this.world.runUntilIdle(rates);
    // After a violation, `ended` may never settle, because the simulator has stopped.
    if (this.trace !== undefined) throw this.#failure as Error;
    await ended;
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** Sweeps every full minute until no key has a `sweep_due_at`. No sweep leaves a key due that was due when the sweep began. */
  async #heal(): Promise<void> {
    const scheduler = this.world.process('scheduler');
    for (let i = 1; i === 1 || this.#keys.some((key) => this.history.getDueAt(key) !== undefined); i += 1) {
      await scheduler.context.clock.sleep(MINUTE - (this.world.now % MINUTE), NEVER);
      const startedAt = this.world.now;
      await this.#sweep(`last-sweep-${i}`);
      for (const key of this.#keys) {
        const dueAt = this.history.getDueAt(key) ?? Infinity;
        assert(
          dueAt > startedAt,
          `no key that was due when a sweep began stays due, even if a call of the sweep hangs: ${key}`,
        );
      }
      assert(i < 60, 'after 59 sweeps, no key has a sweep_due_at any more');
    }
  }

  async #endKey(key: string): Promise<void> {
    if (this.#isInReview(key)) await this.#resolve(key, this.#random.pick(['resume', 'release']), `resolve-${key}`);
    const submissions = this.#submissions.filter(({ info }) => info.boq_list_id === key);
    const results: string[] = [];
    for (const submission of [...submissions, ...submissions]) results.push(await this.#sendRequest(submission));
    const holder = submissions.findIndex(
      (submission) => computeFingerprint(submission) === this.history.now(key)?.fingerprint,
    );
    results.forEach((result, i) => {
      const isHolder = i % submissions.length === holder;
      const expected = isHolder ? ['stored', 'replayed'] : ['idempotency_key_reused'];
      assert(expected.includes(result), `in the end ${key} gets ${expected.join(' or ')}, not ${result}`);
    });
  }

  #isInReview(key: string): boolean {
    const status = this.history.now(key)?.status;
    assert.notEqual(status, 'processing', 'after the sweeps, no attempt is in progress');
    if (status !== 'requires_review') return false;
    const start = this.history.getReviewStart(key);
    assert(start !== undefined, 'the sweeps complete every key that needs no operator');
    assert(this.#reports.has(`${key} since ${start}`), 'a key that needs an operator is reported');
    return true;
  }
}

const NEVER = new AbortController().signal;
