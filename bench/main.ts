import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { updateDocuments } from './documents';
import { describeMachine } from './machine';
import { plans, type BenchMetric } from './metrics';
import { renderTable } from './report';
import { measureAll } from './scenarios';
import { buildVariants, startDatabase } from './stack';

/*
 * npm run bench [-- --quick] [--docs] [--json FILE]
 * npm run bench -- --soak [options of soak/main.ts]
 *
 * Measures the service beside the SDK baseline on the embedded Firestore. Fails when a target for calls or
 * memory is missed; a time never fails it.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const startedAt = performance.now();
  const metrics: BenchMetric[] = [];
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
  console.log(describeMachine());
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
  if (values.docs) await updateDocuments(metrics, describeMachine());

  const missed = metrics.filter(({ target }) => target?.enforced === true && !target.passed);
  for (const { scenario, metric, value } of missed) console.error(`Missed: ${scenario}, ${metric}: ${value}`);
  if (missed.length > 0) process.exitCode = 1;
}

const run = process.argv.includes('--soak') ? import('./soak/main') : main();
run.catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
