import { writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { plotOf, tableOf } from './report';
import { buildVariants, startDatabase } from './stack';
import { measureAll, plans, type Figure, type Point } from './works';

/*
 * npm run bench [-- --quick] [--json FILE] [--svg FILE]
 *
 * The service, the floor (the bare SDK), and the first version anyone would write, side by side on the embedded
 * Firestore. Fails when a goal of calls or memory is missed; a time never fails it.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { quick: { type: 'boolean', default: false }, json: { type: 'string' }, svg: { type: 'string' } },
  });
  const started_at = performance.now();
  const figures: Figure[] = [];
  const points: Point[] = [];
  const at = (what: string) => {
    const seconds = Math.round((performance.now() - started_at) / 1000);
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${seconds} s  ${what}`);
    else process.stderr.write(`${seconds} s  ${what}\n`);
  };

  at('building');
  await buildVariants();
  const database = await startDatabase();
  try {
    const plan = plans[values.quick ? 'quick' : 'full'];
    await measureAll({
      plan,
      database,
      at,
      add: (figure) => void figures.push(figure),
      plot: (point) => void points.push(point),
    });
    at('done\n');
  } catch (error) {
    // What was measured until then is worth its minutes.
    console.error(error);
    process.exitCode = 1;
  } finally {
    await database.stop();
  }
  console.log(tableOf(figures));
  console.log(machine());
  if (values.json !== undefined) {
    const rows = figures.map(({ work, figure, value, goal }) => ({
      work,
      figure,
      value,
      goal: goal?.text ?? null,
      holds: goal?.holds ?? null,
    }));
    writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  }
  if (values.svg !== undefined) writeFileSync(values.svg, plotOf(points, machine()));

  const missed = figures.filter(({ goal }) => goal?.firm === true && !goal.holds);
  for (const { work, figure, value } of missed) console.error(`Missed: ${work}, ${figure}: ${value}`);
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
