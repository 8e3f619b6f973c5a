import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Firestore } from '@google-cloud/firestore';
import { startFirestore, type EmbeddedFirestore, type IndexDefinitions } from '../../packages/firestore-local/src';
import { RPCS } from '../../packages/firestore-local/src/internal';
import { createRandom, type Random } from '../../local/sample/random';
import {
  DEPLOY_PACKAGE,
  MEMORY_PROBE_ENV,
  PROJECT,
  startDeployedFunction,
  type DeployedFunction,
} from '../../functions/test/deployment/deployed';
import { getDatabase } from '../../functions/src/lib/firestore/database';
import { createRequestContext } from '../../functions/src/lib/request-context';
import { audit } from '../../functions/audit/audit';
import type { Violation } from '../../functions/audit/invariants';
import { operationNames, type OperationName } from '../../functions/test/support/operations';
import { checkSoakKeys, countOpenKeys, fillSoakDatabase, hasKeyRecord, type SoakKeys } from './database';
import { startScheduledSweep, type ScheduledSweep } from '../../functions/test/deployment/scheduled-sweep';
import {
  createCreation,
  createRead,
  findResponseFault,
  findRetryDelayMs,
  nextRequest,
  sendOnce,
  SOAK_API_KEY,
  type CreatedList,
  type HttpResponse,
  type RequestKind,
  type SoakDisturbance,
  type SoakRequest,
} from './traffic';

/**
 * Mixed traffic against all functions, each in a process of its own as in production, with the scheduled sweep
 * beside them. Firestore hangs for a while, add price lists is stopped by SIGTERM and started again, Firestore is dead for a
 * while. Every response is checked as it comes, the database by audits meanwhile and of every entry at the end: nothing lost,
 * nothing twice, no key left.
 */

export interface SoakOptions {
  seconds: number;
  connections: number;
  seed: number;
  /** How long Firestore hangs, and how long it is dead. */
  outageSeconds: number;
  /** Seconds between two calls of the scheduled sweep. */
  scheduleSeconds: number;
  /** Mean pause of a client between two requests. */
  pauseSeconds: number;
}

export interface SoakResponse {
  kind: RequestKind;
  /** Milliseconds since the start. */
  at: number;
  ms: number;
  /** 0: no response. */
  status: number;
}

/** How the process of add price lists that was stopped ended. */
export interface SoakStop {
  /** null: it did not end within 10 s, and was killed as by the platform. */
  exitCode: number | null;
  /** Creations in progress, which it failed. */
  failedCreations: number;
}

export interface SoakReport {
  options: SoakOptions;
  trafficMs: number;
  responses: SoakResponse[];
  disturbances: SoakDisturbance[];
  stop: SoakStop;
  /** Results of the sweep, by what it did; a key may be deferred many times. */
  sweep: Record<string, number>;
  /** Audits that ran to their end beside the traffic. */
  audits: number;
  /** From the end of the traffic until no key was in progress or required review. */
  completedMs: number;
  /** Megabytes that each process held once its garbage was collected, before the traffic and after it. */
  heapMegabytes: Record<OperationName, { before: number; after: number }>;
  keys: SoakKeys;
  violations: string[];
}

/** A lease, three sweeps and the resumes. */
const COMPLETION_TIMEOUT_MS = 180_000;

/** The memory that a process may hold more after the traffic than before it, after an idle time. */
const MAX_HEAP_GROWTH_MB = 15;
const IDLE_MS = 30_000;

/** Twice the longest pause of a client between two tries. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** Between two audits beside the traffic. */
const AUDIT_PAUSE_MS = 2_000;
const AUDIT_TIMEOUT_MS = 60_000;

/** Takes long enough that SIGTERM arrives in the middle of its entries. */
const INTERRUPTED_PRODUCTS = 10_000;

/** @param onProgress called with the seconds that have passed, and the responses so far */
export async function soak(
  options: SoakOptions,
  onProgress: (seconds: number, responses: number) => void,
): Promise<SoakReport> {
  const run = await SoakRun.start(options);
  try {
    return await run.measure(onProgress);
  } finally {
    await run.close();
  }
}

class SoakRun {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #functions = new Map<OperationName, DeployedFunction>();
  readonly #created: CreatedList[] = [];
  readonly #attempted: string[] = [];
  readonly #violations: string[] = [];
  readonly #responses: SoakResponse[] = [];
  readonly #disturbances: SoakDisturbance[] = [];
  #sweep: ScheduledSweep | undefined;
  #startedAt = performance.now();
  #isOver = false;
  /** The creation in the middle of which the service is stopped. */
  #interrupted = Promise.resolve();

  private constructor(
    private readonly options: SoakOptions,
    private readonly dataDir: string,
    private readonly indexes: IndexDefinitions,
    private firestore: EmbeddedFirestore,
    private readonly db: Firestore,
  ) {}

  static async start(options: SoakOptions): Promise<SoakRun> {
    const dataDir = await mkdtemp(join(tmpdir(), 'soak-'));
    const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
    const firestore = await startFirestore({ dataDir, indexes });
    process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
    process.env['METADATA_SERVER_DETECTION'] = 'none';
    process.env['GOOGLE_CLOUD_PROJECT'] = PROJECT;
    const db = new Firestore({ projectId: PROJECT });
    await fillSoakDatabase(db);
    const run = new SoakRun(options, dataDir, indexes, firestore, db);
    run.#sweep = await run.#startSweep();
    return run;
  }

  async measure(onProgress: (seconds: number, responses: number) => void): Promise<SoakReport> {
    const { seed, connections } = this.options;
    for (const name of operationNames) await this.#startFunction(name);
    // Each process has responded once before the clock starts, and there is a list to replay.
    await Promise.all(operationNames.map((name) => this.#sendOnce(createRead(name))));
    await this.#sendUntilDone(newCreation(10));
    this.#responses.length = 0;
    const before = await this.#readHeaps();

    this.#startedAt = performance.now();
    const disturbed = this.#disturb().finally(() => (this.#isOver = true));
    const audited = this.#auditBeside();
    const clients = Array.from({ length: connections }, (_, i) => this.#runClient(createRandom(seed + i * 7_919)));
    const [stop] = await Promise.all([disturbed, this.#tellProgress(onProgress), ...clients]);
    await this.#interrupted;
    const audits = await audited;
    const trafficMs = this.#now();

    const completedMs = await this.#awaitCompletion();
    const sweep = await this.#sweep?.stop();
    if (sweep?.exitCode !== 0) this.#violations.push(`the sweep exited with ${sweep?.exitCode}: ${sweep?.errors}`);
    if (!(await this.#audit(Infinity))) this.#violations.push('the last audit came to no end');
    return {
      options: this.options,
      trafficMs,
      responses: this.#responses,
      disturbances: this.#disturbances,
      stop,
      sweep: sweep?.results ?? {},
      audits,
      completedMs,
      heapMegabytes: await this.#checkHeaps(before),
      keys: await checkSoakKeys(this.db, this.#created, this.#attempted, this.#violations),
      violations: this.#violations,
    };
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#sweep?.stop();
    for (const { stop } of this.#functions.values()) await stop();
    await this.db.terminate();
    await this.firestore.close();
    await rm(this.dataDir, { recursive: true });
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }

  #getEnvironment(): Record<string, string> {
    return {
      API_KEY: SOAK_API_KEY,
      CORS_ALLOWED_ORIGINS: '',
      FIRESTORE_EMULATOR_HOST: this.firestore.address,
      METADATA_SERVER_DETECTION: 'none',
      ...MEMORY_PROBE_ENV,
    };
  }

  async #startFunction(name: OperationName): Promise<void> {
    this.#functions.set(name, await startDeployedFunction(DEPLOY_PACKAGE, name, this.#getEnvironment()));
  }

  #startSweep(): Promise<ScheduledSweep> {
    return startScheduledSweep(this.options.scheduleSeconds * 1_000, this.#getEnvironment());
  }

  async #runClient(random: Random): Promise<void> {
    // Uniform around the mean, so that the clients do not send together.
    const pause = () => delay(2_000 * this.options.pauseSeconds * random.next());
    if (this.options.pauseSeconds > 0) await pause();
    while (!this.#isOver) {
      await this.#sendUntilDone(nextRequest(random, this.#created));
      if (this.options.pauseSeconds > 0) await pause();
    }
  }

  #sendOnce(request: SoakRequest): Promise<HttpResponse> {
    return sendOnce(this.#agent, this.#functions.get(request.operation)?.port ?? 0, request);
  }

  /** Sends a request as often as a client does, and checks each response. */
  async #sendUntilDone(request: SoakRequest): Promise<void> {
    const { kind, list } = request;
    if (kind === 'create') this.#attempted.push(list.boq_list_id);
    const giveUpAt = this.#now() + this.options.seconds * 1_000 + COMPLETION_TIMEOUT_MS;
    for (let tries = 1; ; tries += 1) {
      const from = this.#now();
      const response = await this.#sendOnce(request);
      const to = this.#now();
      this.#responses.push({ kind, at: from, ms: to - from, status: response.status });
      const fault = findResponseFault({ request, response, earlierTries: tries - 1, from, to }, this.#disturbances);
      if (fault !== undefined) this.#violations.push(fault);
      if (kind === 'create' && response.status === 200) this.#created.push({ ...list, text: response.text });
      if (fault !== undefined) return;
      const delayMs = findRetryDelayMs(response, tries);
      if (delayMs === undefined) {
        if (kind === 'create' && response.status !== 200)
          this.#violations.push(`${list.boq_list_id} was left to support: ${response.status} ${response.text}`);
        return;
      }
      if (to > giveUpAt) {
        this.#violations.push(`${list.boq_list_id} never got 200, last ${response.status}: ${response.text}`);
        return;
      }
      await delay(delayMs);
    }
  }

  /** The outages and the stop, with undisturbed traffic before, between and after them. */
  async #disturb(): Promise<SoakStop> {
    const { seconds, outageSeconds } = this.options;
    const outageMs = outageSeconds * 1_000;
    const undisturbedMs = seconds * 1_000 - 2 * outageMs;
    await delay(0.2 * undisturbedMs);
    this.#expectDisturbance('firestore_hangs', outageMs);
    await hang(this.firestore, outageMs);
    await delay(0.2 * undisturbedMs);
    const stop = await this.#stopAndStart();
    await delay(0.2 * undisturbedMs);
    this.#expectDisturbance('firestore_dead', outageMs);
    await this.firestore.close();
    await delay(outageMs);
    const { dataDir, indexes } = this;
    this.firestore = await startFirestore({ dataDir, indexes, port: this.firestore.port });
    const endedAt = this.#now();
    await delay(Math.max(0.2 * undisturbedMs, seconds * 1_000 - endedAt));
    await this.#awaitService(endedAt);
    return stop;
  }

  /** Continues the traffic until a read and a creation that began after the outages succeed: clients pause between tries. */
  async #awaitService(since: number): Promise<void> {
    const isServed = (kind: RequestKind) =>
      this.#responses.some((response) => response.kind === kind && response.status === 200 && response.at > since);
    while (!(isServed('read') && isServed('create')) && this.#now() - since < RECOVERY_TIMEOUT_MS) await delay(100);
  }

  #expectDisturbance(kind: SoakDisturbance['kind'], ms: number): SoakDisturbance {
    const disturbance = { kind, from: this.#now(), to: this.#now() + ms };
    this.#disturbances.push(disturbance);
    return disturbance;
  }

  /** Stops add price lists in the middle of creations, and starts it at once. */
  async #stopAndStart(): Promise<SoakStop> {
    const stopped = this.#functions.get('addPriceLists');
    if (stopped === undefined) throw new Error('add price lists does not run');
    const interrupted = newCreation(INTERRUPTED_PRODUCTS);
    this.#interrupted = this.#sendUntilDone(interrupted);
    while (!(await hasKeyRecord(this.db, interrupted.list.boq_list_id))) await delay(20);

    const disturbance = this.#expectDisturbance('service_stopped', Infinity);
    const exited = stopped.stop();
    const isStopping = () => stopped.output.some((line) => line.includes('"event":"instance_stopping"'));
    while (!isStopping() && stopped.alive()) await delay(20);
    await this.#startFunction('addPriceLists');
    const exitCode = await exited;
    disturbance.to = this.#now();
    const failed = stopped.output.filter((line) => line.includes('"event":"price_list_failed"'));
    return { exitCode, failedCreations: failed.filter((line) => line.includes('instance is stopping')).length };
  }

  /** Waits until no key is in progress or requires review, as long as the sweep may need. */
  async #awaitCompletion(): Promise<number> {
    const from = this.#now();
    while ((await countOpenKeys(this.db)) > 0 && this.#now() - from < COMPLETION_TIMEOUT_MS) await delay(250);
    return this.#now() - from;
  }

  /** Audits again and again. An audit of stored records reports nothing that is only under way. @returns how many came to an end */
  async #auditBeside(): Promise<number> {
    let audits = 0;
    while (!this.#isOver) {
      if (await this.#audit(10)) audits += 1;
      await delay(AUDIT_PAUSE_MS);
    }
    return audits;
  }

  /** @param sampleSize entries of each list. @returns whether it came to its end, which it does not while Firestore is away */
  async #audit(sampleSize: number): Promise<boolean> {
    const reporter = {
      onViolation: ({ rule, path, message }: Violation) => this.#violations.push(`audit: ${rule}: ${path} ${message}`),
      onUnsettled: () => undefined,
      onProgress: () => undefined,
    };
    const context = createRequestContext(AbortSignal.timeout(AUDIT_TIMEOUT_MS));
    return audit(getDatabase(context), context, { sampleSize, concurrency: 4 }, reporter).then(
      () => true,
      () => false,
    );
  }

  async #tellProgress(onProgress: (seconds: number, responses: number) => void): Promise<void> {
    while (!this.#isOver) {
      onProgress(Math.round(this.#now() / 1_000), this.#responses.length);
      await delay(500);
    }
  }

  async #readHeaps(): Promise<Record<OperationName, number>> {
    const read = [...this.#functions].map(async ([name, each]) => [name, (await each.readHeapBytes()) / 2 ** 20]);
    return Object.fromEntries(await Promise.all(read)) as Record<OperationName, number>;
  }

  async #checkHeaps(before: Record<OperationName, number>): Promise<SoakReport['heapMegabytes']> {
    for (const [name, { alive }] of this.#functions) if (!alive()) this.#violations.push(`${name} has died`);
    const findGrown = () => operationNames.filter((name) => after[name] - before[name] > MAX_HEAP_GROWTH_MB);
    let after = await this.#readHeaps();
    for (const until = this.#now() + IDLE_MS; findGrown().length > 0 && this.#now() < until;) {
      await delay(1_000);
      after = await this.#readHeaps();
    }
    for (const name of findGrown()) this.#violations.push(`${name} holds ${MAX_HEAP_GROWTH_MB} MB more than before`);
    const entries = operationNames.map((name) => [name, { before: before[name], after: after[name] }]);
    return Object.fromEntries(entries) as SoakReport['heapMegabytes'];
  }
}

const newCreation = (products: number): SoakRequest => createCreation({ boq_list_id: randomUUID(), products });

/** Holds every call that arrives, and lets all go on after a while. */
async function hang({ faults }: EmbeddedFirestore, ms: number): Promise<void> {
  const over = delay(ms);
  const held = RPCS.map((rpc) => faults.inject({ rpc, times: Infinity, action: { kind: 'call', run: () => over } }));
  await over;
  for (const fault of held) fault.remove();
}
