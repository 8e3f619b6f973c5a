import { parseArgs } from 'node:util';
import { SimulationHost, SimulationProgram } from './program';

/**
 * npx tsx functions/test/simulation/run-simulation.ts --schedules N --seed S
 * npx tsx functions/test/simulation/run-simulation.ts --schedules N --seed S --break 'no owner token'    with a service broken by breaks.ts
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

async function main(): Promise<void> {
  const program = new SimulationProgram();
  const host = new SimulationHost(program);
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed);
  const run = { seed, schedules: Number(values.schedules), breakName: values.break };
  try {
    process.exitCode = (await host.run(run, console.log)).code;
  } finally {
    await host.close();
    program.remove();
  }
}

void main();
