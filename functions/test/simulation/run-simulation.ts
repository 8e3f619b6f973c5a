import { parseArgs } from 'node:util';
import { simulate } from './simulate';
import { renderProductionTable } from './production';
import { InvariantViolation } from './schedule';

/**
 * npm run simulate -- --schedules N --seed S
 * npm run simulate -- --profile production [--seed S]    the table of docs/scale.md
 *
 * Runs schedules S, S + 1, …, S + N - 1, with progress, until one of them is violated.
 */
const { values } = parseArgs({
  options: { schedules: { type: 'string', default: '1000' }, seed: { type: 'string' }, profile: { type: 'string' } },
});
const schedules = Number(values.schedules);
const first = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed);

async function main(): Promise<void> {
  const started_at = performance.now();
  const seconds = () => Math.round((performance.now() - started_at) / 1000);
  console.log(`${schedules} schedules from seed ${first}`);
  let told_at = 0;
  try {
    const { calls, answers, digest } = await simulate(first, schedules, (done) => {
      if (seconds() < told_at + 5) return;
      told_at = seconds();
      console.log(`${done} of ${schedules} in ${told_at} s`);
    });
    const counted = [...answers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([answer, count]) => `${answer} ${count}`);
    console.log(
      `${schedules} schedules, ${calls} calls, in ${seconds()} s; answers: ${counted.join(', ')}; digest ${digest.slice(0, 16)}`,
    );
  } catch (error) {
    if (!(error instanceof InvariantViolation)) throw error;
    console.error(error.trace.join('\n'));
    console.error(`\n${error.message}\nnpm run simulate -- --schedules 1 --seed ${error.seed}`);
    process.exitCode = 1;
  }
}

switch (values.profile) {
  case undefined:
    void main();
    break;
  case 'production':
    console.log(renderProductionTable(values.seed === undefined ? 1 : first));
    break;
  default:
    console.error(`There is no profile ${values.profile}. Use: --profile production`);
    process.exitCode = 2;
}
