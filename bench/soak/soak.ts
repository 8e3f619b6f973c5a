import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request as send } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Firestore } from '@google-cloud/firestore';
import { RPCS } from '../../local/firestore/schema';
import { startFirestore, type EmbeddedFirestore, type IndexDefinitions } from '../../local/firestore';
import { createRandom, type Random } from '../../local/sample/random';
import {
  DEPLOY_PACKAGE,
  MEMORY_PROBE_ENV,
  PROJECT,
  startDeployedFunction,
  type DeployedFunction,
} from '../../functions/test/deployment/deployed';
import { operationNames, type OperationName } from '../../functions/test/support/operations';
import { createPriceListBody } from '../../functions/test/support/submissions';

/**
 * Mixed traffic against the six functions, each in a process of its own as in production, over a Firestore that hangs for a
 * while and dies for a while. Every answer is judged as it comes, and the database at the end: nothing lost, nothing twice.
 */

export interface SoakOptions {
  seconds: number;
  connections: number;
  seed: number;
  /** How long the hang and the death last, each. */
  outageSeconds: number;
}

/** What was asked, and why. */
export type RequestKind = 'read' | 'create' | 'replay' | 'conflict' | 'refused';

export interface SoakResponse {
  kind: RequestKind;
  /** Milliseconds since the start. */
  at: number;
  ms: number;
  status: number;
}

/** An outage, in milliseconds since the start. */
export interface FirestoreOutage {
  kind: 'hangs' | 'is dead';
  from: number;
  to: number;
}

export interface SoakReport {
  options: SoakOptions;
  answers: SoakResponse[];
  outages: FirestoreOutage[];
  /** Resident megabytes of the six processes together, and of each, by milliseconds since the start. */
  memory: { at: number; megabytes: Record<OperationName, number> }[];
  /** Megabytes that each process held once its garbage was collected, before the traffic and after it. */
  heapMegabytes: Record<OperationName, { before: number; after: number }>;
  /** Keys whose creation was answered 200, and keys that an outage left to an operator. */
  keys: { completed: number; unsettled: number };
  /** What must not be. */
  violations: string[];
}

const KEY = 'soak-key';
const ORDERS = 3_000;
/** An answer may be late by what an outage held it up for, and by this much: a call is tried again for a minute. */
const GRACE_MS = 60_000;
/** How long after an outage a request may still fail of it: connections are made again after a delay. */
const RECOVERY_MS = 20_000;

/** What a process may hold more after the traffic than before it, once it has been idle for so long. */
const MAX_HEAP_GROWTH_MB = 15;
const IDLE_MS = 30_000;

interface Created {
  boq_list_id: string;
  products: number;
  text: string;
}

/** Runs it. `progress` is told of the seconds that have passed. */
export async function soak(
  options: SoakOptions,
  progress: (seconds: number, answers: number) => void,
): Promise<SoakReport> {
  const dataDir = await mkdtemp(join(tmpdir(), 'soak-'));
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  let firestore = await startFirestore({ dataDir, indexes });
  const { address, port } = firestore;
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  const db = new Firestore({ projectId: PROJECT });
  const env = {
    API_KEY: KEY,
    CORS_ALLOWED_ORIGINS: '',
    FIRESTORE_EMULATOR_HOST: address,
    METADATA_SERVER_DETECTION: 'none',
    ...MEMORY_PROBE_ENV,
  };
  const served = new Map<OperationName, DeployedFunction>();
  const agent = new Agent({ keepAlive: true });
  const report: SoakReport = {
    options,
    answers: [],
    outages: [],
    memory: [],
    heapMegabytes: {} as SoakReport['heapMegabytes'],
    keys: { completed: 0, unsettled: 0 },
    violations: [],
  };
  try {
    await fill(db);
    for (const name of operationNames) served.set(name, await startDeployedFunction(DEPLOY_PACKAGE, name, env));
    const ask = (asked: Asked) => exchange(agent, served.get(asked.operation)?.port ?? 0, asked);
    // Each process has answered once before the clock starts, and there is a list to replay.
    await Promise.all(operationNames.slice(0, -1).map((name) => ask(get(name))));
    const first = { boq_list_id: randomUUID(), products: 10 };
    const created: Created[] = [{ ...first, text: (await ask(submit(first))).text }];
    const attempted = [first.boq_list_id];

    const held = async () => {
      const megabytes = await Promise.all(
        [...served].map(async ([name, process]) => [name, (await process.readHeapBytes()) / 2 ** 20]),
      );
      return Object.fromEntries(megabytes) as Record<OperationName, number>;
    };
    const before = await held();

    const started_at = performance.now();
    const now = () => performance.now() - started_at;
    const end = options.seconds * 1_000;

    const worker = async (random: Random) => {
      while (now() < end) {
        const asked = nextRequest(random, created, attempted);
        const at = now();
        const answer = await ask(asked);
        report.answers.push({ kind: asked.kind, at, ms: now() - at, status: answer.status });
        const fault = checkSoakResponse(asked, answer, report.outages, at, now());
        if (fault !== undefined) report.violations.push(fault);
        if (asked.kind === 'create' && answer.status === 200) created.push({ ...asked.list, text: answer.text });
      }
    };
    const watch = async () => {
      while (now() < end) {
        const megabytes = Object.fromEntries([...served].map(([name, { pid }]) => [name, residentMegabytes(pid)]));
        report.memory.push({ at: now(), megabytes: megabytes as Record<OperationName, number> });
        progress(Math.round(now() / 1_000), report.answers.length);
        await delay(500);
      }
    };
    const disturb = async () => {
      const outage = options.outageSeconds * 1_000;
      await delay(end * 0.3);
      report.outages.push({ kind: 'hangs', from: now(), to: now() + outage });
      await hang(firestore, outage);
      await delay(end * 0.3);
      report.outages.push({ kind: 'is dead', from: now(), to: now() + outage });
      await firestore.close();
      await delay(outage);
      firestore = await startFirestore({ dataDir, indexes, port });
    };
    const workers = Array.from({ length: options.connections }, (_, i) =>
      worker(createRandom(options.seed + i * 7_919)),
    );
    await Promise.all([...workers, watch(), disturb()]);

    for (const [name, { alive }] of served) if (!alive()) report.violations.push(`${name} has died`);
    const tooMuch = (after: typeof before) =>
      operationNames.filter((name) => after[name] - before[name] > MAX_HEAP_GROWTH_MB);
    let after = await held();
    for (const until = now() + IDLE_MS; tooMuch(after).length > 0 && now() < until; after = await held())
      await delay(1_000);
    for (const name of operationNames) {
      report.heapMegabytes[name] = { before: before[name], after: after[name] };
    }
    for (const name of tooMuch(after))
      report.violations.push(`${name} holds more than ${MAX_HEAP_GROWTH_MB} MB more than before`);
    report.keys = await checkDatabase(db, created, attempted, report.violations);
  } finally {
    agent.destroy();
    for (const { stop } of served.values()) await stop();
    await db.terminate();
    await firestore.close();
    await rm(dataDir, { recursive: true });
  }
  return report;
}

/** Holds every call that arrives, and lets all go on after a while. */
async function hang({ faults }: EmbeddedFirestore, ms: number): Promise<void> {
  const over = delay(ms);
  const held = RPCS.map((rpc) => faults.inject({ rpc, times: Infinity, action: { kind: 'call', run: () => over } }));
  await over;
  for (const fault of held) fault.remove();
}

async function fill(db: Firestore): Promise<void> {
  const writer = db.bulkWriter();
  const place = { name: 'Somewhere', country_iso: 'KEN' };
  for (let i = 0; i < 50; i += 1) {
    void writer.set(db.doc(`teams/team-${i}`), place);
    void writer.set(db.doc(`warehouses/warehouse-${i}`), place);
    void writer.set(db.doc(`markets/market-${i}`), {
      name: { en: 'A market' },
      country_iso: 'KEN',
      currency_iso: 'KES',
    });
  }
  for (let i = 0; i < ORDERS; i += 1) {
    const order = { team_id: `team-${i % 50}`, created_at: Date.UTC(2026, 0, 1 + (i % 28)) };
    void writer.set(db.doc(`orders/order-${i}`), { ...order, status: 'WAITING' });
    void writer.set(db.doc(`supply_orders/supply-${i}`), { ...order, status: i % 2, invoices: [] });
  }
  await writer.close();
}

interface Asked {
  kind: RequestKind;
  operation: OperationName;
  method: 'GET' | 'POST' | 'PUT';
  key: string;
  body: string;
  /** The list that is created or replayed; for a replay with the answer that is due. */
  list: { boq_list_id: string; products: number; text?: string };
  /** Statuses that are right while Firestore is well. */
  expectedStatuses: readonly number[];
}

const NO_LIST = { boq_list_id: '', products: 0 };

const get = (operation: OperationName): Asked => ({
  kind: 'read',
  operation,
  method: 'GET',
  key: KEY,
  body: '',
  list: NO_LIST,
  expectedStatuses: [200],
});
const post = (operation: OperationName, body: object): Asked => ({
  ...get(operation),
  method: 'POST',
  body: JSON.stringify(body),
});
const submit = (list: Asked['list'], products = list.products) =>
  post('addPriceLists', createPriceListBody(products, { boq_list_id: list.boq_list_id, market_id: 'market-1' }));

/** What is asked next: reads and creations in the main, replays, conflicts and refusals among them. */
function nextRequest(random: Random, created: readonly Created[], attempted: string[]): Asked {
  const range = { team_id: `team-${random.int(0, 49)}`, start_date: '2026-01-01', end_date: '2026-02-01' };
  const known = created[random.int(0, created.length - 1)];
  const chance = random.next();
  if (chance < 0.35) return get(random.pick(['getTeams', 'getMarkets', 'getWarehouses']));
  if (chance < 0.5) return post('getOrdersByTeam', { ...range, status: random.pick(['ALL', 'WAITING']) });
  if (chance < 0.6) return post('supplyOrdersInvoices', { ...range, status: random.pick([0, 1, null]) });
  if (chance < 0.7 && known !== undefined) return { ...submit(known), kind: 'replay', list: known };
  if (chance < 0.75 && known !== undefined)
    return { ...submit(known, known.products + 1), kind: 'conflict', expectedStatuses: [409] };
  if (chance < 0.85) {
    return random.pick<Asked>([
      { ...get('getTeams'), kind: 'refused', key: 'wrong', expectedStatuses: [401] },
      { ...get('getMarkets'), kind: 'refused', method: 'PUT', expectedStatuses: [405] },
      { ...post('getOrdersByTeam', { status: 'NONE' }), kind: 'refused', expectedStatuses: [400] },
      { ...post('addPriceLists', { products: {} }), kind: 'refused', expectedStatuses: [400] },
    ]);
  }
  const list = { boq_list_id: randomUUID(), products: random.pick([1, 10, 100, 600]) };
  attempted.push(list.boq_list_id);
  return { ...submit(list), kind: 'create', list };
}

interface Answer {
  status: number;
  text: string;
}

function exchange(agent: Agent, port: number, { method, key, body }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key, ...(body !== '' && { 'content-type': 'application/json' }) };
    const sent = send({ host: '127.0.0.1', port, method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Why an answer must not be, if so. An outage excuses a 500. */
function checkSoakResponse(
  { kind, expectedStatuses, list }: Asked,
  { status, text }: Answer,
  outages: readonly FirestoreOutage[],
  from: number,
  to: number,
): string | undefined {
  const disturbed = outages.some((outage) => from < outage.to + RECOVERY_MS && to > outage.from);
  const longest = disturbed ? Math.max(...outages.map((outage) => outage.to - outage.from)) + GRACE_MS : GRACE_MS;
  if (to - from > longest) return `${kind} was answered after ${Math.round(to - from)} ms`;
  if (kind === 'replay' && status === 200 && text !== list.text)
    return `${list.boq_list_id} was replayed with another answer`;
  if (expectedStatuses.includes(status)) return undefined;
  if (disturbed && status === 500) return undefined;
  return `${kind} at ${Math.round(from)} ms was answered ${status}: ${text.slice(0, 200)}`;
}

/** Looks at every record of every list: each key once, each list whole, each parent what its key says. */
async function checkDatabase(
  db: Firestore,
  created: readonly Created[],
  attempted: readonly string[],
  violations: string[],
): Promise<SoakReport['keys']> {
  const lists = { price_lists: 'price_list', expected_forward_costs: 'expected_forward_cost' } as const;
  const parents = {
    price_lists: await db.collection('price_lists').get(),
    expected_forward_costs: await db.collection('expected_forward_costs').get(),
  };
  const keys = await db.collection('price_list_idempotency').get();
  const requests = await db.collection('price_list_requests').get();
  const completed = keys.docs.filter((key) => key.get('status') === 'completed');
  const expectCount = (kind: string, found: number, expected: number) => {
    if (found !== expected) violations.push(`${kind}: ${found} instead of ${expected}`);
  };
  expectCount('request records', requests.size, keys.size);
  if (keys.size > attempted.length) violations.push('there are keys that nobody posted');
  const completedIds = new Set(completed.map((key) => key.get('boq_list_id') as string));
  for (const { boq_list_id } of created)
    if (!completedIds.has(boq_list_id)) violations.push(`${boq_list_id} was answered 200 and is lost`);
  for (const [collection, name] of Object.entries(lists) as [keyof typeof lists, string][]) {
    const found = parents[collection];
    expectCount(collection, found.size, keys.size);
    expectCount(
      `ready ${collection}`,
      found.docs.filter((parent) => parent.get('status') === 'ready').length,
      completed.length,
    );
    for (const key of completed) {
      const answer = JSON.parse(key.get('response') as string) as Record<string, { id: string }>;
      const entries = await db
        .collection(collection)
        .doc(answer[name]?.id ?? '')
        .collection('products')
        .get();
      expectCount(`entries of ${key.id} in ${collection}`, entries.size, key.get('products_count') as number);
    }
  }
  return { completed: completed.length, unsettled: keys.size - completed.length };
}

/** Resident memory of a process, as Linux tells it; 0 where there is no such file. */
function residentMegabytes(pid: number): number {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) / 1_024;
  } catch {
    return 0;
  }
}
