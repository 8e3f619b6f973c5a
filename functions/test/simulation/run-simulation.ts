import { parseArgs } from 'node:util';
import { reportSimulation } from './simulate';
import { renderProductionTable } from './production';

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

switch (values.profile) {
  case undefined:
    void reportSimulation(first, schedules, console.log).then((code) => (process.exitCode = code));
    break;
  case 'production':
    console.log(renderProductionTable(values.seed === undefined ? 1 : first));
    break;
  default:
    console.error(`There is no profile ${values.profile}. Use: --profile production`);
    process.exitCode = 2;
}
