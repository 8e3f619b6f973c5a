import { parseArgs } from 'node:util';
import { reportSimulation } from './simulate';

/**
 * npm run simulate -- --schedules N --seed S
 *
 * Runs schedules S, S + 1, …, S + N - 1, with progress, until one of them is violated.
 */
const { values } = parseArgs({
  options: { schedules: { type: 'string', default: '1000' }, seed: { type: 'string' } },
});
const first = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed);
void reportSimulation(first, Number(values.schedules), console.log).then((code) => (process.exitCode = code));
