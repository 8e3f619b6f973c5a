import { arch, cpus, totalmem } from 'node:os';
import { readArguments } from '../dev/program.mjs';
import { renderMetrics, type BenchMetric } from './metrics';
import { measureAll, plans } from './scenarios';
import { buildVariants, startDatabase } from './stack';

const USAGE = `Usage: npm run bench [-- --quick]

Compares the service, on the embedded Firestore, with functions that use the SDK and with a function that does nothing. The exit code
is 1 if a measurement fails, or if the calls to Firestore or the memory of the service miss a target. Times and rates that miss their
targets do not change the exit code, because other load changes them.

--quick  measures fewer and smaller cases, for a first impression`;

async function main(): Promise<void> {
  const { values: options } = readArguments(USAGE, {
    options: { quick: { type: 'boolean', default: false } },
  });
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
  } finally {
    await database.stop();
  }
  console.log(`${renderMetrics(metrics)}\n${describeMachine()}`);

  for (const { scenario, metric, value, bound } of metrics) {
    if (bound?.isEnforced !== true || bound.holds(value)) continue;
    console.error(`Missed: ${scenario}, ${metric}: ${value}`);
    process.exitCode = 1;
  }
}

function describeMachine(): string {
  const processors = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'} (${arch()})`;
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Machine: ${processors}, ${memory} GiB, Node ${process.versions.node}.`;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
