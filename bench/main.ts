import { writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { renderChart, renderTable } from './report';
import { buildVariants, startDatabase } from './stack';
import { plans, type BenchMetric, type ChartPoint } from './metrics';
import { measureAll } from './scenarios';

/*
 * npm run bench [-- --quick] [--json FILE] [--svg FILE]
 *
 * Measures the service beside the SDK baseline and the naive version on the embedded Firestore. Fails when a target for calls or
 * memory is missed; a time never fails it.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { quick: { type: 'boolean', default: false }, json: { type: 'string' }, svg: { type: 'string' } },
  });
  const startedAt = performance.now();
  const metrics: BenchMetric[] = [];
  const points: ChartPoint[] = [];
  const onProgress = (step: string) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${seconds} s  ${step}`);
    else process.stderr.write(`${seconds} s  ${step}\n`);
  };

  onProgress('building');
  await buildVariants();
  const database = await startDatabase();
  try {
    const plan = plans[values.quick ? 'quick' : 'full'];
    await measureAll({
      plan,
      database,
      onProgress,
      add: (metric) => void metrics.push(metric),
      addPoint: (point) => void points.push(point),
    });
    onProgress('done\n');
  } catch (error) {
    // The table shows what was measured before the error.
    console.error(error);
    process.exitCode = 1;
  } finally {
    await database.stop();
  }
  console.log(renderTable(metrics));
  console.log(machine());
  if (values.json !== undefined) {
    const rows = metrics.map(({ scenario, metric, value, spread, target }) => ({
      scenario,
      metric,
      value,
      min: spread?.min ?? null,
      max: spread?.max ?? null,
      target: target?.text ?? null,
      passed: target?.passed ?? null,
    }));
    writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  }
  if (values.svg !== undefined) writeFileSync(values.svg, renderChart(points, machine()));

  const missed = metrics.filter(({ target }) => target?.enforced === true && !target.passed);
  for (const { scenario, metric, value } of missed) console.error(`Missed: ${scenario}, ${metric}: ${value}`);
  if (missed.length > 0) process.exitCode = 1;
}

const machine = (): string => {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown processor'} (${arch()}), ${memory} GiB, Node ${process.versions.node}`;
};

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
