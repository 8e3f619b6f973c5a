import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Firestore } from '@google-cloud/firestore';
import { audit } from '../../functions/audit/audit';
import { getDatabase } from '../../functions/src/lib/firestore/database';
import { createRequestContext } from '../../functions/src/lib/request-context';
import {
  DEPLOY_PACKAGE,
  PROJECT,
  startDeployedFunction,
  type DeployedFunction,
} from '../../functions/test/deployment/deployed';
import { startScheduledSweep } from '../../functions/test/deployment/scheduled-sweep';
import { operationNames, type OperationName } from '../../functions/test/support/operations';
import { createRandom, type Random } from '../../local/sample/random';
import {
  startFirestore,
  type EmbeddedFirestore,
  type FirestoreOptions,
  type IndexDefinitions,
} from '../../packages/firestore-local/src';
import { RPCS } from '../../packages/firestore-local/src/internal';
import { send } from '../client';
import { createSettings } from '../stack';
import { fillDatabase, readKeys } from './database';
import { renderReport, type SoakTry } from './report';
import {
  findResponseFault,
  findRetryDelayMs,
  nextRequest,
  type CreatedList,
  type Disturbance,
  type SoakRequest,
} from './traffic';

/**
 * Sends mixed traffic to all functions, each in its own process, and calls the sweep. Firestore hangs, add price lists is stopped
 * by SIGTERM and started again, and Firestore is dead for a while. Checks every response, and at the end that the database lost
 * nothing, has nothing twice and has no unresolved key.
 */

const CONNECTIONS = 64;
const SWEEP_INTERVAL_MS = 60_000;
/** How long the sweep has for unresolved keys: a lease, three sweeps and the resumes. */
const COMPLETION_TIMEOUT_MS = 180_000;

export interface SoakOptions {
  seconds: number;
  /** How long Firestore hangs, and how long it is dead. */
  outageSeconds: number;
}

/** Runs one soak and prints its report. The exit code is 1 if a list is lost, exists twice or needs an operator. */
export async function soak(options: SoakOptions): Promise<void> {
  if (!(options.seconds > 2 * options.outageSeconds)) {
    throw new Error('--seconds must be more than two outages.');
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'soak-'));
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const stored = { dataDir, indexes };
  const run = new Soak(options, stored, await startFirestore(stored));
  try {
    await run.measure();
  } finally {
    await run.close();
    await rm(dataDir, { recursive: true });
  }
}

class Soak {
  readonly #functions = new Map<OperationName, DeployedFunction>();
  readonly #created: CreatedList[] = [];
  readonly #attempted = new Set<string>();
  readonly #violations: string[] = [];
  readonly #tries: SoakTry[] = [];
  readonly #disturbances: Disturbance[] = [];
  readonly #settings: Record<string, string>;
  readonly #db: Firestore;
  #startedAt = performance.now();
  #isOver = false;

  constructor(
    private readonly options: SoakOptions,
    private readonly stored: FirestoreOptions,
    private firestore: EmbeddedFirestore,
  ) {
    this.#settings = createSettings(firestore.address);
    Object.assign(process.env, this.#settings, { GOOGLE_CLOUD_PROJECT: PROJECT });
    this.#db = new Firestore({ projectId: PROJECT });
  }

  async measure(): Promise<void> {
    await fillDatabase(this.#db);
    for (const name of operationNames) await this.#startFunction(name);
    const sweep = await startScheduledSweep(SWEEP_INTERVAL_MS, this.#settings);
    this.#startedAt = performance.now();
    const seed = Date.now() % 1e9;
    const clients = Array.from({ length: CONNECTIONS }, (_, i) =>
      // Close seeds give similar first numbers.
      this.#runClient(createRandom(seed + i * 7_919)),
    );
    await this.#disturb();
    this.#isOver = true;
    await Promise.all(clients);
    const trafficMs = this.#now();

    await this.#awaitCompletion(trafficMs);
    const completedMs = this.#now() - trafficMs;
    const { exitCode, results, errors } = await sweep.stop();
    if (exitCode !== 0) this.#violations.push(`the sweep exited with ${exitCode}: ${errors}`);
    for (const [name, { alive }] of this.#functions) {
      if (!alive()) this.#violations.push(`${name} has died`);
    }
    await this.#checkKeys();
    await this.#audit();
    const resumed = results['resumed'] ?? 0;
    const facts = { trafficMs, completedMs, resumed, lists: this.#created.length };
    console.log(renderReport(this.#tries, this.#disturbances, facts, this.#violations));
    if (this.#violations.length > 0) process.exitCode = 1;
  }

  async close(): Promise<void> {
    for (const { stop } of this.#functions.values()) await stop();
    await this.#db.terminate();
    await this.firestore.close();
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }

  async #startFunction(name: OperationName): Promise<void> {
    this.#functions.set(name, await startDeployedFunction(DEPLOY_PACKAGE, name, this.#settings));
  }

  async #runClient(random: Random): Promise<void> {
    while (!this.#isOver) await this.#sendUntilDone(nextRequest(random, this.#created));
  }

  /** Sends a request as often as a client does, and checks each response. */
  async #sendUntilDone(request: SoakRequest): Promise<void> {
    const { kind, list } = request;
    const id = list?.boq_list_id ?? '';
    if (kind === 'create') this.#attempted.add(id);
    const giveUpAt = this.#now() + this.options.seconds * 1_000 + COMPLETION_TIMEOUT_MS;
    for (let tries = 1; ; tries += 1) {
      const from = this.#now();
      const response = await send(this.#functions.get(request.operation)?.port ?? 0, request);
      const to = this.#now();
      const { status } = response;
      const text = response.body.toString();
      this.#tries.push({ kind, from, to, status });
      const sent = { request, response, earlierTries: tries - 1, from, to };
      const fault = findResponseFault(sent, this.#disturbances);
      if (fault !== undefined) this.#violations.push(fault);
      const isCreated = kind === 'create' && status === 200;
      if (isCreated && list !== undefined) this.#created.push({ ...list, text });
      const delayMs = findRetryDelayMs(response, tries);
      if (fault !== undefined || delayMs === undefined || to > giveUpAt) {
        const isLeft = kind === 'create' && status !== 200;
        if (isLeft) this.#violations.push(`${id} was left to support: ${status} ${text}`);
        return;
      }
      await delay(delayMs);
    }
  }

  /** Runs the outages and the stop, with undisturbed traffic before, between and after them. */
  async #disturb(): Promise<void> {
    const outageMs = this.options.outageSeconds * 1_000;
    const undisturbedMs = (this.options.seconds * 1_000 - 2 * outageMs) / 4;
    await delay(undisturbedMs);
    await this.#during('Firestore hangs', () => hang(this.firestore, outageMs));
    await delay(undisturbedMs);
    await this.#during('Add price lists is stopped and started', async () => {
      const exited = this.#functions.get('addPriceLists')?.stop();
      await this.#startFunction('addPriceLists');
      await exited;
    });
    await delay(undisturbedMs);
    await this.#during('Firestore is dead', async () => {
      const { port } = this.firestore;
      await this.firestore.close();
      await delay(outageMs);
      this.firestore = await startFirestore({ ...this.stored, port });
    });
    await delay(undisturbedMs);
  }

  async #during(kind: Disturbance['kind'], disturb: () => Promise<void>): Promise<void> {
    const disturbance = { kind, from: this.#now(), to: Infinity };
    this.#disturbances.push(disturbance);
    console.error(`${Math.round(disturbance.from / 1_000)} s  ${kind}`);
    await disturb();
    disturbance.to = this.#now();
  }

  /** Waits until no key is in progress or requires review, as long as the sweep may need. */
  async #awaitCompletion(from: number): Promise<void> {
    while (this.#now() - from < COMPLETION_TIMEOUT_MS) {
      const keys = await readKeys(this.#db);
      if (keys.every(({ status }) => status === 'completed')) return;
      await delay(1_000);
    }
  }

  /** Compares the keys with what the clients sent and got. */
  async #checkKeys(): Promise<void> {
    const keys = await readKeys(this.#db);
    const completed = new Set<string>();
    for (const { boq_list_id, status, failure } of keys) {
      const isSent = this.#attempted.has(boq_list_id);
      if (!isSent) this.#violations.push(`${boq_list_id} was sent by no client`);
      if (status === 'completed') completed.add(boq_list_id);
      else this.#violations.push(`${boq_list_id} is left to an operator: ${status}, ${failure}`);
    }
    for (const { boq_list_id } of this.#created) {
      if (!completed.has(boq_list_id)) this.#violations.push(`${boq_list_id} got 200 and is lost`);
    }
  }

  /** Compares every record and entry with the payloads. */
  async #audit(): Promise<void> {
    const context = createRequestContext(new AbortController().signal);
    await audit(getDatabase(context), context, Infinity, {
      onViolation: ({ rule, path, message }) => {
        this.#violations.push(`audit: ${rule}: ${path} ${message}`);
      },
      onProgress: () => undefined,
    });
  }
}

/** Holds every call that arrives, and releases all of them after a while. */
async function hang({ faults }: EmbeddedFirestore, ms: number): Promise<void> {
  const over = delay(ms);
  const action = { kind: 'call', run: () => over } as const;
  const held = RPCS.map((rpc) => faults.inject({ rpc, times: Infinity, action }));
  await over;
  for (const fault of held) fault.remove();
}
