import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { readArguments } from '../scripts/arguments.mjs';
import { renderMetrics, type BenchMetric } from './metrics';
import { measureAll, plans } from './scenarios';
import { soak } from './soak/soak';
import { buildVariants, startDatabase } from './stack';
import { PERFORMANCE_PAGE, renderPerformancePage } from './tables';

const USAGE = `Usage: npm run bench [-- --quick] [--docs]
       npm run bench -- --soak [--seconds 240] [--outage 60]

Compares the service with the SDK baseline on the embedded Firestore. Memory is measured on Linux only. Fails when a target of calls or
memory is missed that other load on the machine does not change. Never fails because of a time.

--quick    shorter, for a first impression
--docs     writes the summary of docs/performance.md
--soak     mixed traffic while Firestore hangs and dies and the service is stopped
--seconds  how long it lasts
--outage   how many seconds Firestore is away`;

async function main(): Promise<void> {
  const { soak: isSoak, seconds, outage, ...options } = readOptions();
  if (isSoak) await soak({ seconds: Number(seconds), outageSeconds: Number(outage) });
  else await bench(options);
}

const readOptions = () =>
  readArguments(USAGE, {
    options: {
      quick: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
      soak: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '240' },
      outage: { type: 'string', default: '60' },
    },
  }).values;

async function bench(options: { quick: boolean; docs: boolean }): Promise<void> {
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
    // The table shows what was measured before the error.
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

/** @throws Error on another version of Node than .nvmrc names, since times compare on that one alone */
function assertDeployedNode(): void {
  const version = readFileSync('.nvmrc', 'utf8').trim();
  if (process.versions.node === version) return;
  throw new Error(
    `The benchmark needs Node ${version}, but Node ${process.versions.node} runs it. On Linux: npm run postinstall`,
  );
}

/** The rows of the summary of docs/performance.md. */
const SUMMARY: readonly (readonly [scenario: string, metric: string])[] = [
  ['cold start of getMarkets', '÷ bare function, node_modules'],
  ['cold start of addPriceLists', '÷ bare function, node_modules'],
  ['small reads (50 markets)', 'requests a second ÷ SDK baseline'],
  ['100,000 orders', 'time ÷ SDK baseline'],
  ['100,000 orders', 'processor time ÷ bytes alone'],
  ['300,000 orders', 'peak memory above idle'],
  ['add 1,000 products', 'time ÷ SDK baseline'],
  ['add 100,000 products', 'time ÷ SDK baseline'],
  ['add 100,000 products', 'peak memory above idle ÷ body'],
  ['4 lists of 32 MB at once', 'peak memory ÷ that of the function'],
];

async function updateSummary(metrics: readonly BenchMetric[]): Promise<void> {
  const summary = SUMMARY.flatMap(([scenario, metric]) =>
    metrics.filter((each) => each.scenario === scenario && each.metric === metric),
  );
  const sections = { summary: `${describeMachine()}\n\n${renderMetrics(summary)}` };
  writeFileSync(PERFORMANCE_PAGE, await renderPerformancePage(sections));
}

/** The machine that figures were measured on. */
function describeMachine(): string {
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'} (${arch()})`;
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Machine: ${processors}, ${memory} GiB, Node ${process.versions.node}.`;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
