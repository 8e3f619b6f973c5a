import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { writeOptions } from '../functions/src/lib/runtime-options';
import { ask, askWithoutBody, throughput, type Asked } from './client';
import { MARKETS, ordersRequest, priceListRequest, seed, seedMarket } from './data';
import { interleaved, liveOf, peakOf, ratioOf, spreadOf, succeed, withFunctions, type Spread } from './measure';
import { bundles, environment, memoryOf, runJudging, variants, type Database, type Variant } from './stack';

/** What is measured, and the goal that each figure is held against. */

/** One figure. */
export interface Figure {
  work: string;
  figure: string;
  value: number;
  unit: string;
  spread?: Spread;
  /** What the value should be; without one it is for information. */
  goal?: Goal;
}

export interface Goal {
  text: string;
  holds: boolean;
  /** Calls and memory are what they are on any machine, however busy: to miss one of these goals fails the bench. */
  firm: boolean;
}

/** How far one size of read took each variant, for the plot. */
export interface Point {
  variant: Variant;
  orders: number;
  ms: number;
  peakMb: number;
}

export interface Plan {
  teams: number;
  /** Sizes of the orders of a team, and how often each is read. */
  orders: readonly { size: number; rounds: number }[];
  priceLists: readonly { size: number; rounds: number }[];
  judging: { products: number; runs: number };
  coldStarts: number;
  loadMs: number;
  /** Whether it takes the time for what only the largest sizes show. */
  isWhole: boolean;
}

export const plans: Record<'full' | 'quick', Plan> = {
  full: {
    teams: 10_000,
    orders: [
      { size: 1_000, rounds: 9 },
      { size: 10_000, rounds: 9 },
      { size: 100_000, rounds: 3 },
      { size: 300_000, rounds: 1 },
    ],
    priceLists: [
      { size: 1_000, rounds: 9 },
      { size: 10_000, rounds: 5 },
      { size: 100_000, rounds: 3 },
    ],
    judging: { products: 100_000, runs: 15 },
    coldStarts: 9,
    loadMs: 2_000,
    isWhole: true,
  },
  quick: {
    teams: 1_000,
    orders: [
      { size: 1_000, rounds: 3 },
      { size: 10_000, rounds: 1 },
      { size: 100_000, rounds: 0 },
    ],
    priceLists: [
      { size: 1_000, rounds: 3 },
      { size: 100_000, rounds: 0 },
    ],
    judging: { products: 100_000, runs: 5 },
    coldStarts: 1,
    loadMs: 500,
    isWhole: false,
  },
};

/** What a measurement is given: where to put its figures, and whom to tell what it is at. */
export interface Bench {
  plan: Plan;
  database: Database;
  add: (figure: Figure) => void;
  plot: (point: Point) => void;
  at: (what: string) => void;
}

const atMost = (bound: number, value: number, firm = false): Goal => ({
  text: `≤ ${bound}`,
  holds: value <= bound,
  firm,
});
const atLeast = (bound: number, value: number): Goal => ({ text: `≥ ${bound}`, holds: value >= bound, firm: false });
const exactly = (bound: number, value: number): Goal => ({ text: `= ${bound}`, holds: value === bound, firm: true });
/** A figure that is a fact. */
const isSo = (holds: boolean) => ({ value: Number(holds), unit: '', goal: { text: 'yes', holds, firm: true } });

const count = (number: number) => number.toLocaleString('en');

/** Everything, in an order in which each measurement finds the data that it needs. */
export async function measureAll(bench: Bench): Promise<void> {
  const { plan, database } = bench;
  await judging(bench);
  bench.at('filling the database');
  await seed(
    database,
    plan.teams,
    plan.orders.map(({ size }) => size),
  );
  await coldStart(bench);
  await smallReads(bench);
  await teams(bench);
  const peaks: number[] = [];
  for (const { size, rounds } of plan.orders) peaks.push(await orders(bench, size, rounds));
  if (plan.isWhole) flatness(bench, peaks.slice(-2));
  if (plan.isWhole) await compression(bench);
  await refused(bench);
  for (const { size, rounds } of plan.priceLists) await priceLists(bench, size, rounds);
  if (plan.isWhole) await largestBodies(bench);
}

async function judging({ plan: { judging }, add, at }: Bench): Promise<void> {
  const work = `judging ${count(judging.products)} products`;
  at(work);
  const { parse = NaN, allGood = NaN, allBad = NaN } = await runJudging(judging.products, judging.runs);
  const ratio = allGood / parse;
  add({
    work,
    figure: 'parsed, validated, fingerprinted ÷ JSON.parse',
    value: ratio,
    unit: '×',
    goal: atMost(3, ratio),
  });
  add({ work, figure: 'all bad ÷ all good', value: allBad / allGood, unit: '×', goal: atMost(1, allBad / allGood) });
  add({ work, figure: 'JSON.parse alone', value: parse, unit: 'ms' });
}

async function coldStart({ plan, database, add, at }: Bench): Promise<void> {
  const work = 'cold start';
  at(work);
  const times = { service: [] as number[], first: [] as number[], bare: [] as number[] };
  for (let round = 0; round < plan.coldStarts; round += 1) {
    times.bare.push(await startToAnswer(bundles.bare, 'bare', database));
    times.service.push(await startToAnswer(bundles.service, 'getMarkets', database));
    times.first.push(await startToAnswer(bundles.first, 'getMarkets', database));
  }
  const bare = ratioOf(times.service, times.bare);
  const goal = atMost(1.6, bare.median);
  add({ work, figure: 'first query answered ÷ bare onRequest', value: bare.median, unit: '×', spread: bare, goal });
  const first = ratioOf(times.service, times.first);
  add({ work, figure: '÷ first version', value: first.median, unit: '×', spread: first });
  const time = spreadOf(times.service);
  add({ work, figure: 'process start to answer', value: time.median, unit: 'ms', spread: time });
}

/** Milliseconds from the start of the framework's own program to the answer of its function. */
async function startToAnswer(bundle: string, name: string, { address }: Database): Promise<number> {
  const port = await freePort();
  const framework = 'node_modules/@google-cloud/functions-framework/build/src/main.js';
  const started_at = performance.now();
  const child = spawn(
    process.execPath,
    [framework, `--target=${name}`, `--source=${bundle}`, `--port=${port}`, '--signature-type=http'],
    { env: environment(address), stdio: 'ignore' },
  );
  try {
    for (;;) {
      const answered = await ask(port, { method: 'GET', headers: { connection: 'close' } }).catch(() => undefined);
      if (answered?.status === 200) return performance.now() - started_at;
      if (answered || child.exitCode !== null || performance.now() - started_at > 20_000)
        throw new Error(`${name} did not start: ${answered?.status}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  } finally {
    child.kill();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const GET: Asked = { method: 'GET' };
const post = (body: Buffer): Asked => ({ method: 'POST', body });

async function smallReads({ plan, database, add, at }: Bench): Promise<void> {
  const work = `small reads (${MARKETS} markets)`;
  at(work);
  await withFunctions(variants, 'getMarkets', database, async (side) => {
    const rates = await interleaved(side, plan.coldStarts, ({ port }) => throughput(port, GET, 32, plan.loadMs));
    const floor = ratioOf(rates.service, rates.floor);
    const goal = atLeast(0.9, floor.median);
    add({ work, figure: 'requests a second ÷ floor', value: floor.median, unit: '×', spread: floor, goal });
    const first = ratioOf(rates.service, rates.first);
    add({ work, figure: 'requests a second ÷ first version', value: first.median, unit: '×', spread: first });
    const rate = spreadOf(rates.service);
    add({ work, figure: 'requests a second, 32 connections', value: rate.median, unit: '/s', spread: rate });
  });
}

async function teams({ plan, database, add, at }: Bench): Promise<void> {
  const work = `${count(plan.teams)} teams`;
  at(work);
  await read({ work, name: 'getTeams', asked: GET, rounds: plan.coldStarts, ofFloor: 1.1, database, add });
}

/** Times a read side by side, with its ratios, its calls, and its processor time. */
async function read({
  work,
  name,
  asked,
  rounds,
  ofFloor,
  database,
  add,
}: Pick<Bench, 'database' | 'add'> & { work: string; name: string; asked: Asked; rounds: number; ofFloor: number }) {
  return withFunctions(variants, name, database, async (side) => {
    const measured = await interleaved(side, rounds, async ({ port, cpuMs }) => {
      const [calls, cpu] = [await database.calls(), await cpuMs()];
      const answered = await succeed(port, asked);
      return { ...answered, calls: (await database.calls()) - calls, cpu: (await cpuMs()) - cpu };
    });
    const of = (variant: Variant, figure: 'ms' | 'cpu') => measured[variant].map((run) => run[figure]);
    const floor = ratioOf(of('service', 'ms'), of('floor', 'ms'));
    const goal = atMost(ofFloor, floor.median);
    add({ work, figure: 'time ÷ floor', value: floor.median, unit: '×', spread: floor, goal });
    const first = ratioOf(of('service', 'ms'), of('first', 'ms'));
    add({
      work,
      figure: 'time ÷ first version',
      value: first.median,
      unit: '×',
      spread: first,
      goal: atMost(0.67, first.median),
    });
    const cpu = ratioOf(of('service', 'cpu'), of('floor', 'cpu'));
    add({ work, figure: 'processor time of the function ÷ floor', value: cpu.median, unit: '×', spread: cpu });
    const time = spreadOf(of('service', 'ms'));
    add({ work, figure: 'time', value: time.median, unit: 'ms', spread: time });
    const calls = Math.max(...measured.service.map((run) => run.calls));
    add({ work, figure: 'Firestore calls', value: calls, unit: '', goal: exactly(1, calls) });
    return measured;
  });
}

/** The bound on the memory of a read, in megabytes: that of the issue, 96 MiB. */
const READ_PEAK_MB = 100.6;

/** The orders of a team, timed in so many rounds; in none, only what holds on the busiest machine is looked at. */
async function orders(bench: Bench, size: number, rounds: number): Promise<number> {
  const { database, add, at, plot } = bench;
  const work = `${count(size)} orders`;
  const asked = post(ordersRequest(size));
  const small = post(ordersRequest(Math.min(...bench.plan.orders.map(({ size }) => size))));
  at(`${work}, memory of the service`);
  const { peakMb, calls, answered } = await peakOf('service', 'getOrdersByTeam', database, small, asked);
  add({ work, figure: 'peak memory above idle', value: peakMb, unit: 'MB', goal: atMost(READ_PEAK_MB, peakMb, true) });
  if (rounds === 0) add({ work, figure: 'Firestore calls', value: calls, unit: '', goal: exactly(1, calls) });
  add({ work, figure: 'answer', value: answered.bytes / 1e6, unit: 'MB' });
  add({ work, figure: 'answer whole', ...isSo(answered.status === 200 && answered.tail.endsWith(`"count":${size}}`)) });
  const framed = answered.hasLength === answered.bytes <= WHOLE_ANSWER_BYTES;
  add({ work, figure: 'Content-Length up to 30 MB, chunks beyond', ...isSo(framed) });
  if (rounds === 0) return peakMb;

  at(work);
  // A hundred thousand are to take half of the time that `query.get()` takes, which is what the floor does.
  const ofFloor = size < 100_000 ? 1.1 : 0.5;
  const measured = await read({ work, name: 'getOrdersByTeam', asked, rounds, ofFloor, database, add });
  const share = spreadOf(measured.service.map(({ firstByteMs, ms }) => firstByteMs / ms)).median;
  // The first byte of chunks comes when 30 MB are there, and no later.
  const latest = Math.min(1, (1.2 * WHOLE_ANSWER_BYTES) / answered.bytes);
  const goal = atMost(Number(latest.toFixed(2)), share);
  add({ work, figure: 'first byte ÷ last byte', value: share, unit: '×', goal });
  for (const variant of variants) {
    at(`${work}, memory of the ${variant}`);
    const peak =
      variant === 'service' ? peakMb : (await peakOf(variant, 'getOrdersByTeam', database, small, asked)).peakMb;
    const ms = spreadOf(measured[variant].map(({ ms }) => ms)).median;
    plot({ variant, orders: size, ms, peakMb: peak });
    if (variant === 'first') add({ work, figure: 'peak memory of the first version', value: peak, unit: 'MB' });
  }
  return peakMb;
}

/** How much more memory the largest answer takes than the second largest: none, if memory does not grow with size. */
function flatness({ plan, add }: Bench, [second = NaN, largest = NaN]: readonly number[]): void {
  const [a, b] = plan.orders.slice(-2).map(({ size }) => count(size));
  const growth = largest / second;
  add({
    work: `${b} orders`,
    figure: `peak memory ÷ that of ${a}`,
    value: growth,
    unit: '×',
    goal: atMost(1.5, growth),
  });
}

const WHOLE_ANSWER_BYTES = 30_000_000;

/** What compression costs and saves, on the largest answer but one. */
async function compression({ plan, database, add, at }: Bench): Promise<void> {
  const size = plan.orders.map(({ size }) => size).find((size) => size >= 10_000) ?? 0;
  const work = `${count(size)} orders, compressed`;
  at(work);
  await withFunctions(['service'], 'getOrdersByTeam', database, async (side) => {
    for (const encoding of ['gzip', 'br']) {
      const asked = { ...post(ordersRequest(size)), headers: { 'accept-encoding': encoding } };
      const plain = await interleaved(side, 3, ({ port }) => succeed(port, post(ordersRequest(size))));
      const packed = await interleaved(side, 3, ({ port }) => succeed(port, asked));
      const bytes = (packed.service[0]?.bytes ?? NaN) / (plain.service[0]?.bytes ?? NaN);
      add({ work, figure: `${encoding}: bytes ÷ plain`, value: bytes, unit: '×' });
      const time = ratioOf(
        packed.service.map(({ ms }) => ms),
        plain.service.map(({ ms }) => ms),
      );
      add({ work, figure: `${encoding}: time ÷ plain`, value: time.median, unit: '×', spread: time });
    }
  });
}

async function refused({ database, add, at }: Bench): Promise<void> {
  const work = 'bad key, body of 30 MB';
  at(work);
  const body = Buffer.alloc(30_000_000, ' ');
  const wrong = { 'x-api-key': 'wrong' };
  const small = { ...post(Buffer.from('{}')), headers: wrong };
  const { peakMb, answered } = await peakOf('service', 'addPriceLists', database, small, {
    ...post(body),
    headers: wrong,
  });
  add({ work, figure: 'peak memory above idle', value: peakMb, unit: 'MB', goal: atMost(8, peakMb, true) });
  const before = await withFunctions(['service'], 'addPriceLists', database, async ({ service: { port } }) =>
    askWithoutBody(port, body.length, wrong),
  );
  const refused = before === 401 && answered.status === 401;
  add({ work, figure: 'answered before the body is sent', ...isSo(refused) });
}

const BATCH = 500;

/** What reads and commits there must be beside the batches: the key and the market, the claim, the key, the finish. */
const STEPS = 4;

async function priceLists({ database, add, at }: Bench, products: number, rounds: number): Promise<void> {
  const work = `add ${count(products)} products`;
  at(work);
  const fresh = async () => {
    await database.clear();
    await seedMarket(database);
  };
  if (rounds > 0) {
    await withFunctions(variants, 'addPriceLists', database, async (side) => {
      const measured = await interleaved(side, rounds, async ({ port }) => {
        await fresh();
        const asked = post(priceListRequest(products));
        const calls = await database.calls();
        const { ms } = await succeed(port, asked);
        return { ms, calls: (await database.calls()) - calls };
      });
      const times = (variant: Variant) => measured[variant].map(({ ms }) => ms);
      const floor = ratioOf(times('service'), times('floor'));
      add({
        work,
        figure: 'time ÷ floor',
        value: floor.median,
        unit: '×',
        spread: floor,
        goal: atMost(1.1, floor.median),
      });
      const first = ratioOf(times('service'), times('first'));
      add({ work, figure: 'time ÷ first version', value: first.median, unit: '×', spread: first });
      const time = spreadOf(times('service'));
      add({ work, figure: 'time', value: time.median, unit: 'ms', spread: time });
      const calls = Math.max(...measured.service.map((run) => run.calls));
      const least = STEPS + 2 * Math.ceil(products / BATCH);
      add({ work, figure: 'Firestore calls', value: calls, unit: '', goal: exactly(least, calls) });
    });
  }
  if (products < SMALLEST_WEIGHED) return;
  at(`${work}, memory`);
  const small = post(priceListRequest(100));
  await fresh();
  const body = priceListRequest(products);
  const bodies = (mb: number) => (mb * 1e6) / body.length;
  const live = bodies(await liveOf('service', 'addPriceLists', database, small, post(body)));
  add({ work, figure: 'memory held ÷ body', value: live, unit: '×', goal: atMost(3.5, live, true) });
  for (const variant of rounds === 0 ? [] : (['service', 'floor'] as const)) {
    await fresh();
    const { peakMb } = await peakOf(variant, 'addPriceLists', database, small, post(priceListRequest(products)));
    const goal = variant === 'service' && { goal: atMost(3.5, bodies(peakMb)) };
    const figure = `peak memory above idle ÷ body${variant === 'floor' ? ', of the floor' : ''}`;
    add({ work, figure, value: bodies(peakMb), unit: '×', ...goal });
  }
}

/** Below this a body is lost in what a process takes and gives back by itself. */
const SMALLEST_WEIGHED = 100_000;

/** The most that an instance of add price lists has to bear at once: as many of the largest body as it takes requests. */
async function largestBodies({ database, add, at }: Bench): Promise<void> {
  const { concurrency } = writeOptions;
  // A compiler's error, should it be given in another unit.
  const memory: `${number}GiB` = writeOptions.memory;
  const work = `${concurrency} lists of 32 MB at once`;
  at(work);
  await database.clear();
  await seedMarket(database);
  await withFunctions(['service'], 'addPriceLists', database, async ({ service: { port, pid } }) => {
    const bodies = Array.from({ length: concurrency }, () => priceListRequest(380_000));
    const answers = await Promise.all(bodies.map((body) => succeed(port, post(body))));
    const { peak } = memoryOf(pid);
    const share = (peak * 1e6) / (Number.parseInt(memory) * 2 ** 30);
    add({ work, figure: 'body', value: (bodies[0]?.length ?? NaN) / 1e6, unit: 'MB' });
    add({ work, figure: 'slowest answer', value: Math.max(...answers.map(({ ms }) => ms)), unit: 'ms' });
    add({
      work,
      figure: 'peak memory ÷ that of the function',
      value: share,
      unit: '×',
      goal: atMost(0.9, share, true),
    });
  });
}
