import { parseArgs } from 'node:util';
import { reportSimulation } from './simulate';

/**
 * npm run simulate -- --schedules N --seed S
 * npm run simulate -- --schedules N --seed S --break 'no owner token'    with a service broken by breaks.ts
 *
 * Runs schedules S, S + 1, …, S + N - 1, with progress, until one of them is violated.
 */
const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    break: { type: 'string' },
  },
});
const first = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed);
void reportSimulation(first, Number(values.schedules), console.log, values.break).then(
  (code) => (process.exitCode = code),
);
