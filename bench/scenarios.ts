import { gzipSync } from 'node:zlib';
import { Firestore } from 'firebase-admin/firestore';
import { createRandom, spreadSeed } from '../dev/random';
import { MAX_MEMORY_SHARE, MEMORY_BYTES } from '../functions/src/lib/memory';
import { PRICE_LISTS_BODY_LIMITS } from '../functions/src/lib/payload-limits';
import { drawBody } from '../dev/run/bodies';
import { collections } from '../functions/src/lib/firestore/collections';
import { writeOptions } from '../functions/src/lib/runtime-options';
import { WRITE_SIZES } from '../functions/src/lib/work-context';
import { MEMORY_PROBE_ENV, PROJECT, type DeployedFunction } from '../dev/run/deployed';
import { sendRequest } from '../dev/run/http';
import { measureThroughput, sendOk, type BenchRequest } from './client';
import { MARKETS, createDensestPayload, createOrdersBody, createPriceListPayload } from './data';
import {
  computeRatioStats,
  computeStats,
  measureFunctions,
  measureInterleaved,
  measurePeakMemory,
  withFunction,
  type Stats,
} from './measure';
import { atLeast, atMost, enforced, exactly, type Bound } from './metrics';
import { BENCH_API_KEY, readProcessorMs, startFunction, type BenchDatabase } from './stack';

export interface BenchPlan {
  /** With 0 rounds, only calls and memory are measured. */
  orders: readonly { size: number; rounds: number }[];
  priceLists: readonly { size: number; rounds: number }[];
  /** Rounds of the cold starts and of the small reads. */
  rounds: number;
  loadMs: number;
  /** The peak of a read depends on when Node collects garbage, so it is measured in this number of processes. */
  memoryRounds: number;
  /** Number of bodies to draw for each scenario of drawn bodies. */
  draws: number;
  /** Whether to create as many of the largest lists at once as one instance accepts, and to resume them. This takes minutes. */
  hasLargestLists: boolean;
}

export const plans: Record<'full' | 'quick', BenchPlan> = {
  full: {
    orders: [
      { size: 1_000, rounds: 9 },
      { size: 100_000, rounds: 3 },
      { size: 300_000, rounds: 0 },
    ],
    priceLists: [
      { size: 1_000, rounds: 9 },
      { size: 100_000, rounds: 3 },
    ],
    rounds: 9,
    loadMs: 2_000,
    memoryRounds: 3,
    draws: 200,
    hasLargestLists: true,
  },
  quick: {
    orders: [
      { size: 1_000, rounds: 1 },
      { size: 100_000, rounds: 0 },
    ],
    priceLists: [{ size: 1_000, rounds: 1 }],
    rounds: 1,
    loadMs: 500,
    memoryRounds: 1,
    draws: 5,
    hasLargestLists: false,
  },
};

/** Number of calls of a creation besides its batches and renewals: see docs/performance.md#costs. */
const FIXED_CALLS = 4;

export interface BenchContext {
  plan: BenchPlan;
  database: BenchDatabase;
  /** Adds a metric of the scenario that began last. */
  add: (metric: string, unit: string, value: number | Stats, bound?: Bound) => void;
  begin: (scenario: string) => void;
}

/** Runs the scenarios of the plan. Their order matters, because some replace the data. */
export async function measureAll(bench: BenchContext): Promise<void> {
  const { plan, database } = bench;
  await database.fill([]);
  await coldStart(bench, 'getMarkets', () => GET, 1);
  await coldStart(bench, 'getOrdersByTeam', () => post(createOrdersBody(0)), 1);
  await coldStart(bench, 'addPriceLists', () => post(createPriceListPayload(10)), 1.7);
  await smallReads(bench);
  await database.fill(plan.orders.map(({ size }) => size));
  for (const { size, rounds } of plan.orders) await orders(bench, size, rounds);
  for (const { size, rounds } of plan.priceLists) await priceLists(bench, size, rounds);
  if (plan.hasLargestLists) await largestLists(bench);
  await drawnBodies(bench);
}

/** The variants to compare, except in cold starts: the service, the ordinary SDK function and, for reads, the best SDK function. */
const COMPARED = ['service', 'sdk'] as const;
const READ_VARIANTS = [...COMPARED, 'sdk-stream'] as const;

const GET: BenchRequest = { method: 'GET' };
const post = (body: Buffer): BenchRequest => ({ method: 'POST', body });

/**
 * Measures the time from process start to the complete response, and compares it with that of a function that does nothing.
 *
 * @param createRequest creates the request of each round, because a creation that is repeated would only be replayed
 */
async function coldStart(
  { plan, database, add, begin }: BenchContext,
  operation: string,
  createRequest: () => BenchRequest,
  bound: number,
): Promise<void> {
  begin(`cold start of ${operation}`);
  const times = await measureInterleaved(['service', 'bare'], plan.rounds, (variant) => {
    const [name, sent] = variant === 'bare' ? [variant, GET] : [operation, createRequest()];
    const startedAt = performance.now();
    return withFunction(startFunction(variant, name, database), async ({ port }) => {
      await sendOk(port, sent);
      return performance.now() - startedAt;
    });
  });
  const ratio = computeRatioStats(times.service, times.bare);
  add('time ÷ bare function', '×', ratio, atMost(bound));
  add('process start to response', 'ms', computeStats(times.service));
}

async function smallReads({ plan, database, add, begin }: BenchContext): Promise<void> {
  begin(`small reads (${MARKETS} markets)`);
  const { rounds, loadMs } = plan;
  const measure = ({ port }: DeployedFunction) => measureThroughput(port, GET, 32, loadMs);
  const rates = await measureFunctions(READ_VARIANTS, 'getMarkets', database, rounds, measure);
  add('requests a second ÷ ordinary SDK', '×', computeRatioStats(rates.service, rates.sdk));
  add('requests a second ÷ best SDK', '×', computeRatioStats(rates.service, rates['sdk-stream']), atLeast(0.9));
  add('requests a second, 32 connections', '/s', computeStats(rates.service));
}

/** The target of 96 MiB, in units of 10^6 bytes. */
const READ_PEAK_MB = 100.6;

/** From this size on, the processor time of a read is long enough for a clock that counts in steps of 10 ms. */
const LARGE_READ = 100_000;

async function orders(bench: BenchContext, size: number, rounds: number): Promise<void> {
  const { plan, database, add, begin } = bench;
  begin(`${formatCount(size)} orders`);
  const name = 'getOrdersByTeam';
  const request = post(createOrdersBody(size));
  const small = post(createOrdersBody(Math.min(...plan.orders.map((each) => each.size))));
  const { peak, calls } = await measurePeakMemory(name, database, small, request, plan.memoryRounds);
  add('peak memory above idle', 'MB', peak, enforced(atMost(READ_PEAK_MB)));
  add('Firestore calls', '', calls, exactly(1));
  if (rounds === 0) return;

  const measure = async ({ port, pid }: DeployedFunction) => {
    const before = readProcessorMs(pid);
    const ms = await sendOk(port, request);
    return { ms, cpu: readProcessorMs(pid) - before };
  };
  const measured = await measureFunctions(READ_VARIANTS, name, database, rounds, measure);
  const get = (variant: (typeof READ_VARIANTS)[number], figure: 'ms' | 'cpu') =>
    measured[variant].map((run) => run[figure]);
  const divide = (figure: 'ms' | 'cpu', by: 'sdk' | 'sdk-stream') =>
    computeRatioStats(get('service', figure), get(by, figure));
  // The target of a large read is half of the time of `query.get()`, which the ordinary SDK function calls.
  add('time ÷ ordinary SDK', '×', divide('ms', 'sdk'), atMost(size < LARGE_READ ? 1.1 : 0.5));
  add('time ÷ best SDK', '×', divide('ms', 'sdk-stream'), atMost(1.1));
  if (size < LARGE_READ) return;
  add('processor time ÷ ordinary SDK', '×', divide('cpu', 'sdk'));
  add('processor time ÷ best SDK', '×', divide('cpu', 'sdk-stream'));
}

async function priceLists({ database, add, begin }: BenchContext, products: number, rounds: number): Promise<void> {
  begin(`add ${formatCount(products)} products`);
  const name = 'addPriceLists';
  const measure = async ({ port }: DeployedFunction) => {
    await database.fill([]);
    const request = post(createPriceListPayload(products));
    const before = await database.calls();
    const ms = await sendOk(port, request);
    return { ms, calls: (await database.calls()) - before };
  };
  const measured = await measureFunctions(COMPARED, name, database, rounds, measure);
  const [service, sdk] = [measured.service, measured.sdk].map((runs) => runs.map(({ ms }) => ms));
  add('time ÷ ordinary SDK', '×', computeRatioStats(service ?? [], sdk ?? []), atMost(1.1));
  const calls = Math.max(...measured.service.map((run) => run.calls));
  add('Firestore calls', '', calls, exactly(FIXED_CALLS + 2 * Math.ceil(products / WRITE_SIZES.batchEntries)));
}

/**
 * Limits the heap to what Node 24 uses at most in a container of 2 GiB (measured). On a machine with more memory, Node would
 * set a higher limit and collect garbage less often, so the peak would be larger than in production.
 */
const HEAP = { NODE_OPTIONS: `${MEMORY_PROBE_ENV.NODE_OPTIONS} --max-heap-size=1120` };

const { maxBytes } = PRICE_LISTS_BODY_LIMITS;

/** Turns a completed key record into the record that a killed process leaves. */
const CRASHED = { status: 'processing', owner: 'crashed', response: null, lease_expires_at: 1, sweep_due_at: 1 };

/**
 * Measures the peak memory of an instance that creates as many of the largest lists as it accepts at once, and of a sweep that
 * resumes them.
 */
async function largestLists({ database, add, begin }: BenchContext): Promise<void> {
  const { concurrency } = writeOptions;
  const addPeakMemory = async ({ readRss }: DeployedFunction) =>
    add(
      "peak memory ÷ the function's memory",
      '×',
      toMemoryShare((await readRss()).peakRss),
      enforced(atMost(MAX_MEMORY_SHARE)),
    );

  begin(`${concurrency} lists of 32 MiB at once`);
  await database.fill([]);
  await withFunction(startFunction('service', 'addPriceLists', database, HEAP), async (running) => {
    const bodies = Array.from({ length: concurrency }, () => createDensestPayload());
    await Promise.all(bodies.map((body) => sendOk(running.port, post(body))));
    await addPeakMemory(running);
  });

  begin(`a sweep that resumes ${concurrency} lists of 32 MiB`);
  // Without this variable, the client would look for credentials on the network.
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  const firestore = new Firestore({ projectId: PROJECT, host: database.address, ssl: false });
  const keys = firestore.collection(collections.priceListIdempotency);
  for (const { ref } of (await keys.get()).docs) await ref.update(CRASHED);
  await withFunction(startFunction('service', 'sweepPriceLists', database, HEAP), async (running) => {
    await sendOk(running.port, { method: 'POST' });
    await addPeakMemory(running);
  });
  const { size } = await keys.where('status', '==', 'completed').get();
  if (size !== concurrency) throw new Error(`The sweep resumed ${size} of ${concurrency} lists.`);
  await firestore.terminate();
}

/**
 * Sends drawn bodies (dev/run/bodies.ts) to an instance, which must survive them. Sends each body alone, then as many times at once as
 * the instance accepts, and then the same number beside three creations at a time. Measures the peak memory, and the longest time
 * for which another request waited.
 */
async function drawnBodies({ plan, database, add, begin }: BenchContext): Promise<void> {
  const { concurrency } = writeOptions;
  const scenarios = [
    ['one at a time', 1, 0],
    [`${concurrency} at once`, concurrency, 0],
    [`${concurrency} at once beside 3 creations`, concurrency, 3],
  ] as const;
  for (const [name, atOnce, creations] of scenarios) {
    begin(`${plan.draws} drawn bodies, ${name}, seeds from ${FIRST_SEED}`);
    const peaks: number[] = [];
    const stalls: number[] = [];
    // One process for all draws, because a process does not give back all memory that it has freed.
    await withFunction(
      startFunction('service', 'addPriceLists', database, HEAP),
      async ({ port, readRss, alive, output }) => {
        let isDrawing = true;
        const create = async () => {
          do await sendOk(port, post(createPriceListPayload(100_000)));
          while (isDrawing);
        };
        const creating = Array.from({ length: creations }, create);
        for (let i = 0; i < plan.draws; i += 1) {
          const { text, what } = drawBody(createRandom(spreadSeed(FIRST_SEED + i)), maxBytes);
          const { statuses, longestMs } = await sendAtOnce(port, gzipSync(text, { level: 1 }), atOnce);
          if (!alive() || statuses.includes(500)) {
            throw new Error(`Seed ${FIRST_SEED + i}, ${what}: ${statuses.join()}\n${output.slice(-8).join('\n')}`);
          }
          stalls.push(longestMs);
          peaks.push((await readRss()).peakRss);
        }
        isDrawing = false;
        await Promise.all(creating);
      },
    );
    add(
      "peak memory ÷ the function's memory",
      '×',
      toStats(peaks.map(toMemoryShare)),
      enforced(atMost(MAX_MEMORY_SHARE)),
    );
    add('longest wait of another request', 'ms', toStats(stalls), atMost(atOnce * MAX_PIECE_MS));
  }
}

const FIRST_SEED = 1;

/** The target for the longest time in which the work on one body holds the event loop. */
const MAX_PIECE_MS = 2_000;

/** Computes statistics, and puts the maximum in the place of the median, because the target applies to the maximum. */
function toStats(values: readonly number[]): Stats {
  const { min, max } = computeStats(values);
  return { median: max, min, max };
}

/** Sends `times` equal bodies at once, and small requests all the time. @returns the statuses, and the longest wait of a small request */
async function sendAtOnce(
  port: number,
  body: Buffer,
  times: number,
): Promise<{ statuses: number[]; longestMs: number }> {
  const headers = { 'x-api-key': BENCH_API_KEY, 'content-type': 'application/json', 'content-encoding': 'gzip' };
  let isRunning = true;
  const bystander = async () => {
    let longest = 0;
    while (isRunning) {
      const startedAt = performance.now();
      await sendRequest(port, { method: 'GET', headers });
      longest = Math.max(longest, performance.now() - startedAt);
    }
    return longest;
  };
  const waiting = bystander();
  // The body is sent in chunks, because the response can come before the body is complete.
  const send = () => sendRequest(port, { method: 'POST', headers, body: [body] });
  const responses = await Promise.all(Array.from({ length: times }, send));
  isRunning = false;
  return { statuses: responses.map(({ status }) => status), longestMs: await waiting };
}

/** Divides the memory of a process by the memory of an instance, which is the same for add price lists and the sweep. */
const toMemoryShare = (bytes: number): number => bytes / MEMORY_BYTES[writeOptions.memory];

const formatCount = (number: number) => number.toLocaleString('en');
