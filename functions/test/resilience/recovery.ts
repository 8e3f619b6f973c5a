import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { LEASE_DURATION_MS } from '../../src/lib/runtime-options';
import { MAX_ENTRIES_PER_COMMIT } from '../../src/price-lists/commit-sizes';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { forkProgram } from '../../../test/support/programs';
import { sendRequest } from '../support/http';
import { writeMarket } from '../support/price-lists';
import { createPriceListBody, type PriceListBody } from '../support/submissions';
import { getBundleVariables, bundleProgram } from './bundle';

/**
 * Recovery from a crash: a process of the service is killed with SIGKILL in the middle of a creation, while the
 * scheduled sweep is called beside it. Measures how long it takes until the identical request gets 200, and checks every entry.
 */

export interface RecoveryOptions {
  products: number;
  runs: number;
  /** Runs at the same time, each with a key and a killed process of its own. */
  concurrency: number;
  /** From one call of the scheduled sweep to the next, as Cloud Scheduler makes them. */
  sweepIntervalMs: number;
  /** Pause between two identical requests. */
  pollMs: number;
  /** Replaces the lease of the service and of the sweep. */
  leaseMs?: number;
  /** Replaces how many entries a commit of theirs holds. */
  batch?: number;
  /** Uniform in [0, 1), like Math.random. */
  random: () => number;
}

export interface RecoveryRun {
  boqListId: string;
  /** Commits of entries that had arrived at the kill, and of how many. */
  killedAfter: number;
  commits: number;
  /** From the kill to the end of the lease that the killed process held. */
  leaseMs: number;
  /** From the kill to the sweep's resume, and to its completion. */
  resumedMs: number;
  completedMs: number;
  /** From the kill to the 200 of the identical request. */
  recoveryMs: number;
}

const PROJECT = 'demo-recovery';
const API_KEY = 'recovery-key';
const HEADERS = { 'x-api-key': API_KEY, 'content-type': 'application/json' };

interface Stage {
  firestore: EmbeddedFirestore;
  db: Firestore;
  startService: () => Promise<{ process: ChildProcess; port: number }>;
}

export async function measureRecovery(
  options: RecoveryOptions,
  onRun: (run: RecoveryRun) => void = () => undefined,
): Promise<RecoveryRun[]> {
  const folder = mkdtempSync(join(tmpdir(), 'recovery-'));
  const { leaseMs = LEASE_DURATION_MS, batch = MAX_ENTRIES_PER_COMMIT } = options;
  const numbers = { LEASE_DURATION_MS: leaseMs, MAX_ENTRIES_PER_COMMIT: batch };
  await bundleProgram('functions/test/resilience/host.ts', join(folder, 'host.cjs'), numbers);
  await bundleProgram('functions/test/resilience/sweep-host.ts', join(folder, 'sweep-host.cjs'), numbers);
  const firestore = await startFirestore();
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  const env = { ...getBundleVariables(), GCLOUD_PROJECT: PROJECT, API_KEY };
  const db = new Firestore({ projectId: PROJECT });
  const startService = async () => {
    const child = forkProgram(join(folder, 'host.cjs'), { env });
    const [port] = (await once(child, 'message')) as [number];
    return { process: child, port };
  };
  const sweep = forkProgram(join(folder, 'sweep-host.cjs'), {
    env: { ...env, SWEEP_INTERVAL_MS: String(options.sweepIntervalMs) },
  });
  try {
    return await measureInWaves({ firestore, db, startService }, options, onRun);
  } finally {
    sweep.kill('SIGKILL');
    await db.terminate();
    await firestore.close();
    await rm(folder, { recursive: true });
  }
}

async function measureInWaves(
  stage: Stage,
  options: RecoveryOptions,
  onRun: (run: RecoveryRun) => void,
): Promise<RecoveryRun[]> {
  const runs: RecoveryRun[] = [];
  for (let first = 0; first < options.runs; first += options.concurrency) {
    stage.firestore.clear();
    await writeMarket(stage.db);
    const standby = await stage.startService();
    const count = Math.min(options.concurrency, options.runs - first);
    const wave = Array.from({ length: count }, async (_, i) => {
      const run = await recoverOnce(`recovery-${first + i + 1}`, standby.port, stage, options);
      onRun(run);
      runs.push(run);
    });
    await Promise.all(wave);
    standby.process.kill('SIGKILL');
  }
  return runs;
}

async function recoverOnce(
  boqListId: string,
  standbyPort: number,
  stage: Stage,
  options: RecoveryOptions,
): Promise<RecoveryRun> {
  const { products, batch = MAX_ENTRIES_PER_COMMIT, pollMs, random } = options;
  const victim = await stage.startService();
  const body = createPriceListBody(products, { boq_list_id: boqListId });
  const request = { method: 'POST', headers: HEADERS, body: JSON.stringify(body) };
  const commits = 2 * Math.ceil(products / batch);
  const killedAfter = Math.max(1, Math.round(commits * (0.1 + 0.8 * random())));

  const reached = watchCommits(stage, boqListId, killedAfter);
  const lost = sendRequest(victim.port, request).then(
    ({ status }) => Promise.reject(new Error(`the killed process returned ${status}`)),
    () => undefined,
  );
  await Promise.race([reached, lost]);
  victim.process.kill('SIGKILL');
  const killedAt = Date.now();
  await lost;
  const killed = await getKeyRecord(stage.db, boqListId);
  await waitForReplay(standbyPort, request, pollMs);
  const replayedAt = Date.now();
  await assertReady(stage.db, boqListId, body);
  const completed = await getKeyRecord(stage.db, boqListId);
  return {
    boqListId,
    killedAfter,
    commits,
    leaseMs: (killed?.lease_expires_at ?? NaN) - killedAt,
    resumedMs: (completed?.actions[0]?.at ?? NaN) - killedAt,
    completedMs: (completed?.updated_at ?? NaN) - killedAt,
    recoveryMs: replayedAt - killedAt,
  };
}

/** Resolves when so many commits of entries of the key's lists have ended. */
function watchCommits({ firestore, db }: Stage, boqListId: string, commits: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let lists: string[] | undefined;
  let counted = 0;
  const early: string[] = [];
  const count = (name: string) => {
    if (lists === undefined) early.push(name);
    else if (lists.some((list) => name.includes(`/${list}/products/`)) && (counted += 1) === commits)
      resolve(undefined);
  };
  const stop = firestore.observe(({ rpc, request }) => {
    const [first] = rpc === 'Commit' && 'writes' in request ? request.writes : [];
    if (first === undefined) return;
    if (first.name.includes('/products/')) count(first.name);
  });
  void findLists(db, boqListId).then((found) => {
    lists = found;
    early.forEach(count);
  });
  return promise.finally(stop);
}

async function findLists(db: Firestore, boqListId: string): Promise<string[]> {
  for (;;) {
    const record = await getKeyRecord(db, boqListId);
    if (record?.creation != null) return [record.creation.expected_forward_cost_id, record.creation.price_list_id];
    await delay(20);
  }
}

const getKeyRecord = async (db: Firestore, boqListId: string) =>
  (await db.collection('price_list_idempotency').doc(keyDocumentId(boqListId)).get()).data() as KeyRecord | undefined;

async function waitForReplay(port: number, request: Parameters<typeof sendRequest>[1], pollMs: number): Promise<void> {
  for (;;) {
    const { status, headers } = await sendRequest(port, request);
    if (status === 200 && headers['idempotent-replayed'] === 'true') return;
    if (status !== 409) throw new Error(`the identical request got ${status}, and no replay`);
    await delay(pollMs);
  }
}

/** @throws Error unless both lists are ready, with every entry and its value */
async function assertReady(db: Firestore, boqListId: string, { products }: PriceListBody): Promise<void> {
  const record = await getKeyRecord(db, boqListId);
  const lists = [
    [`expected_forward_costs/${record?.creation?.expected_forward_cost_id ?? ''}`, 'expected_forward_cost_price'],
    [`price_lists/${record?.creation?.price_list_id ?? ''}`, 'price_list_price'],
  ] as const;
  for (const [path, price] of lists) {
    const status: unknown = (await db.doc(path).get()).get('status');
    if (status !== 'ready') throw new Error(`${path} is ${String(status)}`);
    const { docs } = await db.collection(`${path}/products`).get();
    const wrong = docs.filter((entry) => entry.get(price) !== products[entry.id]?.[price]);
    if (docs.length !== Object.keys(products).length || wrong.length > 0) {
      throw new Error(`${path} has ${docs.length} entries, ${wrong.length} of them wrong`);
    }
  }
}
