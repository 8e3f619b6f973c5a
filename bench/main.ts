import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { readArguments } from '../scripts/arguments.mjs';
import { PERFORMANCE_PAGE, renderMetrics, renderPerformancePage, type BenchMetric } from './metrics';
import { measureAll, plans } from './scenarios';
import { buildVariants, startDatabase } from './stack';

const USAGE = `Usage: npm run bench [-- --quick] [--docs]

Compares the service with two functions of the SDK on the embedded Firestore. Memory is measured on Linux only. A missed target of calls or
memory that other load on the machine does not change ends the run with 1. A missed time never does.

--quick  shorter, for a first impression
--docs   writes the table of docs/performance.md`;

async function main(): Promise<void> {
  const { values: options } = readArguments(USAGE, {
    options: { quick: { type: 'boolean', default: false }, docs: { type: 'boolean', default: false } },
  });
  assertDeployedNode();
  const startedAt = performance.now();
  const metrics: BenchMetric[] = [];
  const tell = (step: string) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.error(`${seconds} s  ${step}`);
  };
  let scenario = '';

  tell('building');
  await buildVariants();
  const database = await startDatabase();
  try {
    await measureAll({
      plan: plans[options.quick ? 'quick' : 'full'],
      database,
      begin: (name) => {
        scenario = name;
        tell(name);
      },
      add: (metric, unit, given, bound) => {
        const spread = typeof given === 'number' ? undefined : given;
        const value = typeof given === 'number' ? given : given.median;
        metrics.push({ scenario, metric, unit, value, spread, bound });
      },
    });
  } catch (error) {
    // The measurements before the error are still printed.
    console.error(error);
    process.exitCode = 1;
  } finally {
    await database.stop();
  }
  console.log(`${renderMetrics(metrics)}\n${describeMachine()}`);
  if (options.docs) await updateSummary(metrics);

  for (const { scenario, metric, value, bound } of metrics) {
    if (bound?.isEnforced !== true || bound.holds(value)) continue;
    console.error(`Missed: ${scenario}, ${metric}: ${value}`);
    process.exitCode = 1;
  }
}

/** @throws Error unless this is the version of Node in .nvmrc, because times of other versions do not compare */
function assertDeployedNode(): void {
  const version = readFileSync('.nvmrc', 'utf8').trim();
  if (process.versions.node === version) return;
  throw new Error(
    `The benchmark needs Node ${version}, but Node ${process.versions.node} runs it. On Linux: npm run postinstall`,
  );
}

/** The rows of the table in docs/performance.md. */
const SUMMARY: readonly (readonly [scenario: string, metric: string])[] = [
  ['cold start of getMarkets', '÷ bare function, node_modules'],
  ['cold start of getMarkets', 'process start to response'],
  ['cold start of addPriceLists', '÷ bare function, node_modules'],
  ['cold start of addPriceLists', 'process start to response'],
  ['small reads (50 markets)', 'requests a second ÷ ordinary SDK'],
  ['small reads (50 markets)', 'requests a second ÷ best SDK'],
  ['small reads (50 markets)', 'requests a second, 32 connections'],
  ['1,000 orders', 'time ÷ ordinary SDK'],
  ['1,000 orders', 'time ÷ best SDK'],
  ['1,000 orders', 'time'],
  ['100,000 orders', 'processor time ÷ ordinary SDK'],
  ['100,000 orders', 'processor time ÷ best SDK'],
  ['100,000 orders', 'time'],
  ['300,000 orders', 'peak memory above idle'],
  ['add 1,000 products', 'time ÷ ordinary SDK'],
  ['add 1,000 products', 'time'],
  ['add 100,000 products', 'time ÷ ordinary SDK'],
  ['add 100,000 products', 'time'],
  ['4 lists of 32 MB at once', 'peak memory ÷ that of the function'],
];

async function updateSummary(metrics: readonly BenchMetric[]): Promise<void> {
  const summary = SUMMARY.flatMap(([scenario, metric]) =>
    metrics.filter((each) => each.scenario === scenario && each.metric === metric),
  );
  writeFileSync(PERFORMANCE_PAGE, await renderPerformancePage(`${describeMachine()}\n\n${renderMetrics(summary)}`));
}

/** Describes the machine of this run. */
function describeMachine(): string {
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'} (${arch()})`;
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Machine: ${processors}, ${memory} GiB, Node ${process.versions.node}.`;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
