import assert from 'node:assert/strict';
import type { Firestore } from 'firebase-admin/firestore';
import { ApiError } from '../../src/lib/errors';
import type { PriceListSubmission } from '../../src/lib/schemas/add-price-lists';
import { LEASE_DURATION_MS, writeOptions } from '../../src/lib/runtime-options';
import { computeFingerprint } from '../../src/price-lists/payload';
import { LEASE_EXPIRED } from '../../src/price-lists/key-state-machine';
import {
  createPriceLists,
  FAILURE_RESERVE_MS,
  type WorkflowContext,
  type CreationResult,
} from '../../src/price-lists/create-price-lists';
import { requireKeyRecord, CommandError, release, resume, loadStoredPayload } from '../../cli/review';
import { checkInvariants } from '../resilience/invariants';
import { parseSubmission } from '../support/submissions';
import { KeyHistory, type KeyState } from './monitor';
import { SeededRandom } from './random';
import { NO_FAULTS, ProcessCrashed, Simulator, type Process, type FaultRates } from './world';

/**
 * One schedule: clients that post and post again, operators who resume and release, and whatever the weather does to
 * them; then the weather clears, and everything must come to a good end. The model below says what each client may be
 * answered; what must hold of the database is checked after every commit.
 */

/** What a schedule came to. */
export interface ScheduleResult {
  calls: number;
  /** How often each answer was given. */
  answers: Map<string, number>;
  /** All that happened, line by line. */
  trace: readonly string[];
}

/** A schedule in which something that must hold did not. */
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

/** As long as a deployed function works at a request before it fails it by itself. */
const BUDGET_MS = writeOptions.timeoutSeconds * SECOND - FAILURE_RESERVE_MS - 15 * SECOND;

/** A process with fewer mishaps than a call has tries has lost nothing that it could not ride out. */
const MAX_TOLERATED_FAULTS = 5;

/** Runs the schedule of a seed against an empty database. @throws Violation */
export async function runSchedule(seed: number, db: Firestore): Promise<ScheduleResult> {
  const schedule = new Schedule(seed, db);
  try {
    await schedule.run();
  } catch (cause) {
    throw new InvariantViolation(seed, schedule.trace ?? schedule.world.trace, cause);
  }
  const { calls, trace } = schedule.world;
  return { calls, trace, answers: schedule.answers };
}

class Schedule {
  readonly world: Simulator;
  readonly answers = new Map<string, number>();
  readonly #random: SeededRandom;
  readonly #db: Firestore;
  readonly #submissions: PriceListSubmission[];
  readonly #monitor: KeyHistory;
  readonly #keys: readonly string[];
  /** The bytes that were answered for a key. */
  readonly #answered = new Map<string, string>();
  readonly #fresh = new Set<string>();
  #failure: unknown;
  /** What had happened by the first failure. */
  trace: string[] | undefined;
  #processes = 0;

  constructor(seed: number, db: Firestore) {
    this.#random = new SeededRandom(seed);
    this.#db = db;
    this.#keys = this.#random.chance(0.3) ? ['boq-1', 'boq-2'] : ['boq-1'];
    this.#submissions = this.#keys.flatMap((key) => this.#payloadsOf(key));
    this.#monitor = new KeyHistory(db, this.#keys);
    this.world = new Simulator(this.#random, db, () => this.#monitor.checkCommit().catch(this.#fail), this.#fail);
  }

  async run(): Promise<void> {
    await this.#db.doc('markets/market').set({ name: { en: 'A market' }, country_iso: 'egy', currency_iso: 'egp' });
    const clients = this.#random.integer(2, 6);
    const operators = this.#random.pick([0, 1, 2]);
    const lives = [
      ...Array.from({ length: clients }, (_, i) => this.#client(`client-${i + 1}`)),
      ...Array.from({ length: operators }, (_, i) => this.#operator(`operator-${i + 1}`)),
    ].map((life) => life.catch(this.#fail));
    await this.world.runUntilIdle(this.#weather());
    if (this.trace !== undefined) throw this.#failure as Error;
    await Promise.all(lives);
    await checkInvariants(this.#db, this.#submissions);
    await this.#goodEnd();
  }

  readonly #fail = (error: unknown): void => {
    if (this.trace !== undefined) return;
    this.#failure = error;
    this.trace = [...this.world.trace];
    this.world.stop();
  };

  #payloadsOf(boq_list_id: string): PriceListSubmission[] {
    const { pick, chance, integer } = bound(this.#random);
    const market_id = chance(0.2) ? 'nowhere' : 'market';
    const count = chance(0.05) ? integer(501, 503) : integer(1, 3);
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

  #weather(): FaultRates {
    const { pick } = bound(this.#random);
    const errors = () => pick([0, 0.05, 0.2, 0.4]);
    return {
      before: errors(),
      after: errors(),
      late: pick([0, 0.1, 0.3]),
      freeze: pick([0, 0.1, 0.3]),
      crash: pick([0, 0, 0.03, 0.1]),
      permanent: pick([0, 0, 0, 0.02]),
    };
  }

  /** Posts one submission up to four times, as clients do that are not sure. */
  async #client(name: string): Promise<void> {
    const { pick, integer } = bound(this.#random);
    const submission = pick(this.#submissions);
    const posts = integer(1, 4);
    const waits = Array.from({ length: posts }, () => pick([0, 0, 100, SECOND, 30 * SECOND, 30 * MINUTE]));
    const patience = pick([HOUR, HOUR, 5 * SECOND, 10 * MINUTE]);
    const self = this.world.process(name);
    for (const wait of waits) {
      await self.clock.sleep(wait, NEVER);
      // A client that hangs up learns nothing; the process goes on without it.
      await Promise.race([this.#post(submission), self.clock.sleep(patience, NEVER)]);
    }
  }

  /** Posts a submission to a process of its own, and judges the answer. */
  async #post(submission: PriceListSubmission): Promise<string> {
    const process = this.world.process(`request-${(this.#processes += 1)}`);
    const { boq_list_id } = submission.info;
    const mark = this.#monitor.mark(boq_list_id);
    const started_at = this.world.now;
    this.world.note(process, `posts ${submission.info.name} for ${boq_list_id}`);
    let answer: Answer;
    try {
      const run = (signal: AbortSignal) => createPriceLists(submission, this.#run(process, signal));
      answer = { kind: 'stored', ...(await this.world.run(process, BUDGET_MS, run)) };
    } catch (error) {
      if (error instanceof ProcessCrashed) answer = { kind: 'lost' };
      else if (error instanceof ApiError) answer = { kind: 'refused', error };
      else answer = { kind: 'unforeseen', error };
    }
    const told =
      answer.kind === 'refused'
        ? answer.error.code
        : answer.kind === 'stored' && answer.replayed
          ? 'replayed'
          : answer.kind;
    this.world.note(process, `answered ${told}`);
    this.#count(told);
    const judged = { submission, process, answer, mark, started_at };
    // Also where the client has hung up, and nobody else would hear of it.
    await this.world.whilePaused(() => this.#judge(judged)).catch(this.#fail);
    return told;
  }

  #count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }

  #run(process: Process, signal: AbortSignal): WorkflowContext {
    const quiet = () => undefined;
    return {
      db: process.db,
      clock: process.clock,
      random: () => this.#random.next(),
      newToken: () => process.name,
      signal,
      leaseMs: LEASE_DURATION_MS,
      log: { claimed: quiet, completed: quiet, failed: quiet, superseded: quiet },
    };
  }

  /** The model: what a client may be answered, given all that its key's record was while it waited. */
  async #judge({ submission, process, answer, mark, started_at }: ObservedResponse): Promise<void> {
    const key = submission.info.boq_list_id;
    const fingerprint = computeFingerprint(submission);
    const moments = this.#monitor.since(key, mark);
    const isOwn = (moment: KeyState) => moment?.owner === process.name;
    const claimed = moments.some(isOwn);
    const { faultCount, conflicts, permanent, frozenMs } = process;
    const easy = faultCount + conflicts <= MAX_TOLERATED_FAULTS && !permanent && frozenMs < 30 * SECOND;
    const outlived = this.world.now - started_at > LEASE_DURATION_MS - MINUTE;
    const settled = this.#answered.get(key);

    assert(conflicts < moments.length, 'whoever is refused by the database, somebody else was first');

    switch (answer.kind) {
      case 'lost':
        return;
      case 'stored': {
        const record = this.#monitor.now(key);
        assert.equal(record?.status, 'completed', 'only what is completed is answered 200');
        assert.equal(record.fingerprint, fingerprint, 'a payload is answered with its own response');
        assert.equal(record.response, answer.response, 'the answer is the stored one, byte for byte');
        assert.equal(settled ?? answer.response, answer.response, 'the answer is the same for ever');
        if (!answer.replayed) {
          assert(!this.#fresh.has(key), 'one post of a key is answered as the first, the others as replays');
          assert(isOwn(record), 'only the attempt that created the lists is answered as the first');
          this.#fresh.add(key);
          await checkInvariants(this.#db, this.#submissions);
        }
        this.#answered.set(key, answer.response);
        return;
      }
      case 'refused': {
        const { code, headers } = answer.error;
        const { 'Retry-After': retryAfter } = headers;
        if (code === 'idempotency_key_reused') {
          const differs = (moment: KeyState) => moment?.fingerprint !== fingerprint && moment !== undefined;
          assert(
            moments.some((moment) => differs(moment) && moment?.status !== 'released'),
            'a payload is refused as different only where another holds the key',
          );
          assert(!claimed, 'an attempt is never refused as different from its own claim');
        } else if (code === 'request_in_progress') {
          assert.match(retryAfter ?? 'none', /^([1-9]|[12]\d|30)$/, 'a Retry-After is 1 to 30 seconds');
          const live = (moment: KeyState) => moment?.status === 'processing' && !isOwn(moment);
          assert(moments.some(live), 'a caller is asked to come back only while an attempt of another is live');
          assert(!claimed || outlived, 'nobody is refused by his own claim');
        } else if (code === 'review_required') {
          assert.equal(retryAfter, undefined, 'a key that requires review has no Retry-After');
          const unsettled = (moment: KeyState) =>
            moment?.status === 'requires_review' ||
            moment?.status === 'released' ||
            (moment?.status === 'processing' && moment.lease_expires_at < this.world.now + MINUTE) ||
            (claimed && moment !== undefined && moment.fingerprint !== fingerprint);
          assert(moments.some(unsettled), 'a caller is sent to an operator only where one is needed');
          assert(!claimed || outlived, 'nobody is refused by his own claim');
        } else {
          assert.equal(code, 'creation_failed');
          assert(claimed, 'only a claimed attempt fails');
          assert(!easy, 'what can be ridden out is ridden out');
          const lapsed = moments.some((moment) => isOwn(moment) && moment?.failure === LEASE_EXPIRED);
          assert(
            !lapsed || faultCount > MAX_TOLERATED_FAULTS || permanent,
            'an attempt that was superseded is answered as unsettled',
          );
        }
        if (settled !== undefined && this.#completedBefore(key, mark)) {
          assert.equal(code, 'idempotency_key_reused', 'a completed key answers its own payload 200 for ever');
        }
        return;
      }
      case 'unforeseen': {
        assert(!easy, `what can be ridden out is ridden out: ${String(answer.error)}`);
        // The record is asked before a claim is given up; that fails only after as many errors again.
        const asked = faultCount <= 2 * MAX_TOLERATED_FAULTS && frozenMs < 30 * SECOND;
        assert(!claimed || !asked || permanent, 'nobody is refused by his own claim');
      }
    }
  }

  #completedBefore(key: string, mark: number): boolean {
    return this.#monitor.since(key, 0)[mark]?.status === 'completed';
  }

  /** Resumes or releases a key every now and then, whether or not it is time to. */
  async #operator(name: string): Promise<void> {
    const { pick, integer } = bound(this.#random);
    const self = this.world.process(name);
    const times = integer(1, 4);
    for (let i = 1; i <= times; i += 1) {
      await self.clock.sleep(pick([SECOND, MINUTE, 30 * MINUTE]), NEVER);
      await this.#settle(pick(this.#keys), pick(['resume', 'release'] as const), `${name}-${i}`);
    }
  }

  async #settle(key: string, how: 'resume' | 'release', name: string): Promise<void> {
    const process = this.world.process(name);
    const decision = { by: name, reason: null };
    const listener = { onPending: () => undefined, onWritten: () => undefined };
    try {
      await this.world.run(process, BUDGET_MS, async (signal) => {
        const run = this.#run(process, signal);
        const record = await requireKeyRecord(key, run);
        if (how === 'resume') await resume(record, decision, run, listener);
        else await release(record, decision, run);
      });
      this.world.note(process, `${how}d ${key}`);
      this.#count(`${how}d`);
    } catch (error) {
      if (error instanceof CommandError) this.#count('operator refused');
      this.world.note(process, `could not ${how} ${key}: ${String(error)}`);
      const easy =
        process.faultCount + process.conflicts <= MAX_TOLERATED_FAULTS && !process.permanent && process.frozenMs === 0;
      if (!(error instanceof ProcessCrashed || error instanceof CommandError))
        assert(!easy, `an operator rides out what he can: ${String(error)}`);
    }
  }

  /** The weather is clear, every lease has run out: whatever is left open can be settled, and every key comes to 200. */
  async #goodEnd(): Promise<void> {
    this.world.now += HOUR;
    const ends = this.#keys
      .map((key) => this.#end(key))
      .map((end) => end.catch((error: unknown) => (this.#failure ??= error)));
    await this.world.runUntilIdle(NO_FAULTS);
    await Promise.all(ends);
    if (this.#failure !== undefined) throw this.#failure as Error;
    await checkInvariants(this.#db, this.#submissions);
  }

  async #end(key: string): Promise<void> {
    const open = await this.world.whilePaused(() => this.#openAttempt(key));
    if (open !== undefined) await this.#settle(key, open, `settling-${key}`);
    const submissions = this.#submissions.filter(({ info }) => info.boq_list_id === key);
    const told: string[] = [];
    for (const submission of [...submissions, ...submissions]) told.push(await this.#post(submission));
    const holder = submissions.findIndex(
      (submission) => computeFingerprint(submission) === this.#monitor.now(key)?.fingerprint,
    );
    told.forEach((answer, i) => {
      const isHolder = i % submissions.length === holder;
      const expected = isHolder ? ['stored', 'replayed'] : ['idempotency_key_reused'];
      assert(expected.includes(answer), `in the end ${key} is answered ${expected.join(' or ')}, not ${answer}`);
    });
  }

  /** What an operator can do about a key; undefined where nothing is left to do. */
  async #openAttempt(key: string): Promise<'resume' | 'release' | undefined> {
    const process = this.world.process('looking');
    const record = this.#monitor.now(key);
    if (record?.status !== 'processing' && record?.status !== 'requires_review') return undefined;
    const db = { ...process.db, getAll: this.#db.getAll.bind(this.#db) };
    return (await loadStoredPayload(db, record)).kind === 'valid' ? 'resume' : 'release';
  }
}

type Answer =
  | ({ kind: 'stored' } & CreationResult)
  | { kind: 'refused'; error: ApiError }
  | { kind: 'unforeseen'; error: unknown }
  /** The process died under the request. */
  | { kind: 'lost' };

interface ObservedResponse {
  submission: PriceListSubmission;
  process: Process;
  answer: Answer;
  /** The moment of the key's record at which the request came. */
  mark: number;
  started_at: number;
}

const NEVER = new AbortController().signal;

const bound = (random: SeededRandom) => ({
  chance: random.chance.bind(random),
  integer: random.integer.bind(random),
  pick: <T>(values: readonly T[]): T => random.pick(values),
});
