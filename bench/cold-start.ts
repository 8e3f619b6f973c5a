import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { timeRequest, type BenchRequest } from './client';
import { createOrdersBody, createPriceListPayload, createSupplyOrdersBody } from './data';
import { computeRatioStats, computeStats } from './measure';
import { atMost, type BenchContext } from './metrics';
import { createFunctionEnv, packages, type BenchDatabase, type Operation } from './stack';

const FRAMEWORK = 'node_modules/@google-cloud/functions-framework/build/src/main.js';
/** Has the framework, which listens at port 0, tell its port. */
const LISTENING = resolve('functions/test/deployment/listening.cjs');

/** So few that a list of them adds nothing to a cold start. */
const TEAMS = 50;

/** Cold starts of each function, interleaved with those of a function that does nothing. */
export async function measureColdStarts({ plan, database, add, onProgress }: BenchContext): Promise<void> {
  await database.fill(TEAMS, []);
  for (const operation of plan.coldStartFunctions) {
    const scenario = `cold start of ${operation}`;
    onProgress(scenario);
    const times = { service: [] as number[], bare: [] as number[], bareCached: [] as number[] };
    for (let round = 0; round < plan.coldStarts; round += 1) {
      times.bare.push(await timeColdStart(packages.bare, 'bare', GET, database));
      times.service.push(await timeColdStart(packages.service, operation, createRequest(operation), database));
      times.bareCached.push(await timeColdStart(packages.bareCached, 'bare', GET, database));
    }
    const isRead = operation !== 'addPriceLists';
    const bare = computeRatioStats(times.service, times.bare);
    const target = atMost(isRead ? 1 : 1.7, bare.median);
    add({ scenario, metric: '÷ bare function, node_modules', value: bare.median, unit: '×', spread: bare, target });
    const cached = computeRatioStats(times.service, times.bareCached);
    add({
      scenario,
      metric: '÷ bare function, bundled and cached',
      value: cached.median,
      unit: '×',
      spread: cached,
      ...(isRead && { target: atMost(1.35, cached.median) }),
    });
    const time = computeStats(times.service);
    add({ scenario, metric: 'process start to response', value: time.median, unit: 'ms', spread: time });
  }
}

const GET: BenchRequest = { method: 'GET' };

/** A request that reads from Firestore. */
function createRequest(operation: Operation): BenchRequest {
  switch (operation) {
    case 'getMarkets':
    case 'getTeams':
    case 'getWarehouses':
      return GET;
    case 'getOrdersByTeam':
      return { method: 'POST', body: createOrdersBody(0) };
    case 'supplyOrdersInvoices':
      return { method: 'POST', body: createSupplyOrdersBody() };
    case 'addPriceLists':
      return { method: 'POST', body: createPriceListPayload(10) };
  }
}

/** @returns ms from the start of the framework's process to the complete response of its function */
async function timeColdStart(
  bundle: string,
  name: string,
  request: BenchRequest,
  { address }: BenchDatabase,
): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    ['--require', LISTENING, FRAMEWORK, `--target=${name}`, `--source=${bundle}`, '--port=0', '--signature-type=http'],
    { env: createFunctionEnv(address), stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
  );
  const exited = once(child, 'exit');
  const listening = once(child.stdio[3] as Readable, 'data').then(([text]) => Number(text));
  try {
    const port = await Promise.race([listening, exited.then(() => undefined)]);
    if (port === undefined) throw new Error(`${name} did not start`);
    const { status } = await timeRequest(port, { ...request, headers: { connection: 'close' } });
    if (status !== 200) throw new Error(`${name} did not start: ${status}`);
    return performance.now() - startedAt;
  } finally {
    child.kill();
    await exited;
  }
}
