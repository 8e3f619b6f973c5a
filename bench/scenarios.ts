import { writeOptions } from '../functions/src/lib/runtime-options';
import { FIXED_CALLS } from './capacity/capacity';
import { sendHeadersOnly, throughput, type BenchRequest } from './client';
import { measureColdStarts } from './cold-start';
import { MARKETS, createOrdersBody, createPriceListPayload } from './data';
import {
  computeRatioStats,
  computeStats,
  measureInterleaved,
  measureLiveMemory,
  measurePeakMemory,
  requestOk,
  withFunctions,
} from './measure';
import { atLeast, atMost, booleanMetric, exactly, formatCount, type BenchContext } from './metrics';
import { readProcessMemory, runValidationBenchmark, variants, type Variant } from './stack';

/** Runs every scenario, in an order in which each finds the data that it needs. */
export async function measureAll(bench: BenchContext): Promise<void> {
  const { plan, database } = bench;
  await validation(bench);
  await measureColdStarts(bench);
  bench.onProgress('filling the database');
  await database.fill(
    plan.teams,
    plan.orders.map(({ size }) => size),
  );
  await smallReads(bench);
  await teams(bench);
  const peaks: number[] = [];
  for (const { size, rounds } of plan.orders) peaks.push(await orders(bench, size, rounds));
  if (plan.isFull) await processorTime(bench, 100_000, 3);
  if (plan.isFull) memoryGrowth(bench, peaks.slice(-2));
  await unauthorizedBody(bench);
  for (const { size, rounds } of plan.priceLists) await priceLists(bench, size, rounds);
  if (plan.isFull) await largestBodies(bench);
}

async function validation({ plan: { validation }, add, onProgress }: BenchContext): Promise<void> {
  const scenario = `validating ${formatCount(validation.products)} products`;
  onProgress(scenario);
  const {
    parse = NaN,
    allValid = NaN,
    allInvalid = NaN,
  } = await runValidationBenchmark(validation.products, validation.runs);
  const ratio = allValid / parse;
  add({
    scenario,
    metric: 'parsed, validated, fingerprinted ÷ JSON.parse',
    value: ratio,
    unit: '×',
    target: atMost(3, ratio),
  });
  add({
    scenario,
    metric: 'all invalid ÷ all valid',
    value: allInvalid / allValid,
    unit: '×',
    target: atMost(1, allInvalid / allValid),
  });
  add({ scenario, metric: 'JSON.parse alone', value: parse, unit: 'ms' });
}

const GET: BenchRequest = { method: 'GET' };
const post = (body: Buffer): BenchRequest => ({ method: 'POST', body });

async function smallReads({ plan, database, add, onProgress }: BenchContext): Promise<void> {
  const scenario = `small reads (${MARKETS} markets)`;
  onProgress(scenario);
  await withFunctions(variants, 'getMarkets', database, async (side) => {
    const rates = await measureInterleaved(side, plan.coldStarts, ({ port }) => throughput(port, GET, 32, plan.loadMs));
    const sdk = computeRatioStats(rates.service, rates.sdk);
    const target = atLeast(0.9, sdk.median);
    add({ scenario, metric: 'requests a second ÷ SDK baseline', value: sdk.median, unit: '×', spread: sdk, target });
    const rate = computeStats(rates.service);
    add({ scenario, metric: 'requests a second, 32 connections', value: rate.median, unit: '/s', spread: rate });
  });
}

async function teams({ plan, database, add, onProgress }: BenchContext): Promise<void> {
  const scenario = `${formatCount(plan.teams)} teams`;
  onProgress(scenario);
  await read({ scenario, name: 'getTeams', request: GET, rounds: plan.coldStarts, sdkTarget: 1.1, database, add });
}

/** Measures time, processor time and Firestore calls of a read for every variant. */
async function read({
  scenario,
  name,
  request,
  rounds,
  sdkTarget,
  database,
  add,
}: Pick<BenchContext, 'database' | 'add'> & {
  scenario: string;
  name: string;
  request: BenchRequest;
  rounds: number;
  sdkTarget: number;
}) {
  return withFunctions(variants, name, database, async (side) => {
    const measured = await measureInterleaved(side, rounds, async ({ port, cpuMs }) => {
      const [calls, cpu] = [await database.calls(), await cpuMs()];
      const response = await requestOk(port, request);
      return { ...response, calls: (await database.calls()) - calls, cpu: (await cpuMs()) - cpu };
    });
    const of = (variant: Variant, metric: 'ms' | 'cpu') => measured[variant].map((run) => run[metric]);
    const sdk = computeRatioStats(of('service', 'ms'), of('sdk', 'ms'));
    const target = atMost(sdkTarget, sdk.median);
    add({ scenario, metric: 'time ÷ SDK baseline', value: sdk.median, unit: '×', spread: sdk, target });
    const cpu = computeRatioStats(of('service', 'cpu'), of('sdk', 'cpu'));
    add({
      scenario,
      metric: 'processor time of the function ÷ SDK baseline',
      value: cpu.median,
      unit: '×',
      spread: cpu,
    });
    const time = computeStats(of('service', 'ms'));
    add({ scenario, metric: 'time', value: time.median, unit: 'ms', spread: time });
    const calls = Math.max(...measured.service.map((run) => run.calls));
    add({ scenario, metric: 'Firestore calls', value: calls, unit: '', target: exactly(1, calls) });
    return measured;
  });
}

/** 96 MiB, in MB. */
const READ_PEAK_MB = 100.6;

/** Reads the orders of a team; with 0 rounds, measures calls and memory only. @returns the peak memory in MB */
async function orders(bench: BenchContext, size: number, rounds: number): Promise<number> {
  const { database, add, onProgress } = bench;
  const { memoryRounds } = bench.plan;
  const scenario = `${formatCount(size)} orders`;
  const request = post(createOrdersBody(size));
  const small = post(createOrdersBody(Math.min(...bench.plan.orders.map(({ size }) => size))));
  onProgress(`${scenario}, memory of the service`);
  const memory = await measurePeakMemory('service', 'getOrdersByTeam', database, small, () => request, memoryRounds);
  const { peakMb, calls, response } = memory;
  add({
    scenario,
    metric: 'peak memory above idle',
    value: peakMb.median,
    unit: 'MB',
    spread: peakMb,
    target: atMost(READ_PEAK_MB, peakMb.median, true),
  });
  if (rounds === 0) add({ scenario, metric: 'Firestore calls', value: calls, unit: '', target: exactly(1, calls) });
  add({ scenario, metric: 'response', value: response.bytes / 1e6, unit: 'MB' });
  add({
    scenario,
    metric: 'response complete',
    ...booleanMetric(response.status === 200 && response.tail.endsWith(`"count":${size}}`)),
  });
  const framed = response.hasLength === response.bytes <= WHOLE_ANSWER_BYTES;
  add({ scenario, metric: 'Content-Length up to 30 MB, chunks beyond', ...booleanMetric(framed) });
  if (rounds === 0) return peakMb.median;

  onProgress(scenario);
  // A hundred thousand are to take half of the time that `query.get()` takes, which is what the sdk does.
  const sdkTarget = size < 100_000 ? 1.1 : 0.5;
  const measured = await read({ scenario, name: 'getOrdersByTeam', request, rounds, sdkTarget, database, add });
  const share = computeStats(measured.service.map(({ firstByteMs, ms }) => firstByteMs / ms)).median;
  // A chunked response starts as soon as 30 MB are there.
  const latest = Math.min(1, (1.2 * WHOLE_ANSWER_BYTES) / response.bytes);
  const target = atMost(Number(latest.toFixed(2)), share);
  add({ scenario, metric: 'first byte ÷ last byte', value: share, unit: '×', target });
  return peakMb.median;
}

/** Processor time of a large read relative to receiving its bytes. */
async function processorTime({ database, add, onProgress }: BenchContext, size: number, rounds: number): Promise<void> {
  const scenario = `${formatCount(size)} orders`;
  onProgress(`${scenario}, processor time`);
  const request = post(createOrdersBody(size));
  await withFunctions(['bytes', 'service'], 'getOrdersByTeam', database, async (side) => {
    const measured = await measureInterleaved(side, rounds, async ({ port, cpuMs }) => {
      const before = await cpuMs();
      await requestOk(port, request);
      return (await cpuMs()) - before;
    });
    const bytes = computeStats(measured.bytes);
    add({ scenario, metric: 'processor time of the bytes alone', value: bytes.median, unit: 'ms', spread: bytes });
    const ratio = computeRatioStats(measured.service, measured.bytes);
    const target = atMost(2.2, ratio.median);
    add({ scenario, metric: 'processor time ÷ bytes alone', value: ratio.median, unit: '×', spread: ratio, target });
  });
}

/** Memory of the largest response relative to the second largest: about 1 if it does not grow with size. */
function memoryGrowth({ plan, add }: BenchContext, [second = NaN, largest = NaN]: readonly number[]): void {
  const [a, b] = plan.orders.slice(-2).map(({ size }) => formatCount(size));
  const growth = largest / second;
  add({
    scenario: `${b} orders`,
    metric: `peak memory ÷ that of ${a}`,
    value: growth,
    unit: '×',
    target: atMost(1.5, growth),
  });
}

const WHOLE_ANSWER_BYTES = 30_000_000;

async function unauthorizedBody({ database, add, onProgress }: BenchContext): Promise<void> {
  const scenario = 'invalid API key, body of 30 MB';
  onProgress(scenario);
  const body = Buffer.alloc(30_000_000, ' ');
  const wrong = { 'x-api-key': 'wrong' };
  const small = { ...post(Buffer.from('{}')), headers: wrong };
  const rejected = () => ({ ...post(body), headers: wrong });
  const { peakMb, response } = await measurePeakMemory('service', 'addPriceLists', database, small, rejected, 1);
  const target = atMost(8, peakMb.median, true);
  add({ scenario, metric: 'peak memory above idle', value: peakMb.median, unit: 'MB', target });
  const before = await withFunctions(['service'], 'addPriceLists', database, async ({ service: { port } }) =>
    sendHeadersOnly(port, body.length, wrong),
  );
  const isRejected = before === 401 && response.status === 401;
  add({ scenario, metric: 'response before the body is sent', ...booleanMetric(isRejected) });
}

const BATCH = 500;

async function priceLists(
  { plan: { memoryRounds }, database, add, onProgress }: BenchContext,
  products: number,
  rounds: number,
): Promise<void> {
  const scenario = `add ${formatCount(products)} products`;
  onProgress(scenario);
  const resetDatabase = () => database.fill(0, []);
  if (rounds > 0) {
    await withFunctions(variants, 'addPriceLists', database, async (side) => {
      const measured = await measureInterleaved(side, rounds, async ({ port }) => {
        await resetDatabase();
        const request = post(createPriceListPayload(products));
        const calls = await database.calls();
        const { ms } = await requestOk(port, request);
        return { ms, calls: (await database.calls()) - calls };
      });
      const times = (variant: Variant) => measured[variant].map(({ ms }) => ms);
      const sdk = computeRatioStats(times('service'), times('sdk'));
      add({
        scenario,
        metric: 'time ÷ SDK baseline',
        value: sdk.median,
        unit: '×',
        spread: sdk,
        target: atMost(1.1, sdk.median),
      });
      const time = computeStats(times('service'));
      add({ scenario, metric: 'time', value: time.median, unit: 'ms', spread: time });
      const calls = Math.max(...measured.service.map((run) => run.calls));
      const least = FIXED_CALLS + 2 * Math.ceil(products / BATCH);
      add({ scenario, metric: 'Firestore calls', value: calls, unit: '', target: exactly(least, calls) });
    });
  }
  if (products < MIN_MEASURED_PRODUCTS) return;
  onProgress(`${scenario}, memory`);
  const small = post(createPriceListPayload(100));
  await resetDatabase();
  const body = createPriceListPayload(products);
  const bodies = (mb: number) => (mb * 1e6) / body.length;
  const live = bodies(await measureLiveMemory('service', 'addPriceLists', database, small, post(body)));
  add({ scenario, metric: 'memory held ÷ body', value: live, unit: '×', target: atMost(3.5, live, true) });
  for (const variant of rounds === 0 ? [] : (['service', 'sdk'] as const)) {
    await resetDatabase();
    const request = () => post(createPriceListPayload(products));
    const { peakMb } = await measurePeakMemory(variant, 'addPriceLists', database, small, request, memoryRounds);
    const spread = { median: bodies(peakMb.median), min: bodies(peakMb.min), max: bodies(peakMb.max) };
    const target = variant === 'service' && { target: atMost(3.5, spread.median) };
    const metric = `peak memory above idle ÷ body${variant === 'sdk' ? ', of the SDK baseline' : ''}`;
    add({ scenario, metric, value: spread.median, unit: '×', spread, ...target });
  }
}

/** For a smaller body the process's own fluctuation is larger than what is measured. */
const MIN_MEASURED_PRODUCTS = 100_000;

/** The maximum load of one instance: as many of the largest bodies as it takes concurrent requests. */
async function largestBodies({ database, add, onProgress }: BenchContext): Promise<void> {
  const { concurrency } = writeOptions;
  // Fails to compile if the unit changes.
  const memory: `${number}GiB` = writeOptions.memory;
  const scenario = `${concurrency} lists of 32 MB at once`;
  onProgress(scenario);
  await database.fill(0, []);
  await withFunctions(['service'], 'addPriceLists', database, async ({ service: { port, pid } }) => {
    const bodies = Array.from({ length: concurrency }, () => createPriceListPayload(380_000));
    const responses = await Promise.all(bodies.map((body) => requestOk(port, post(body))));
    const { peak } = readProcessMemory(pid);
    const share = (peak * 1e6) / (Number.parseInt(memory) * 2 ** 30);
    add({ scenario, metric: 'body', value: (bodies[0]?.length ?? NaN) / 1e6, unit: 'MB' });
    add({ scenario, metric: 'slowest response', value: Math.max(...responses.map(({ ms }) => ms)), unit: 'ms' });
    add({
      scenario,
      metric: 'peak memory ÷ that of the function',
      value: share,
      unit: '×',
      target: atMost(0.9, share, true),
    });
  });
}
