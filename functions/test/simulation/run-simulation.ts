import { runSimulation } from './program';

/**
 * npx tsx functions/test/simulation/run-simulation.ts --schedules N --seed S
 * npx tsx functions/test/simulation/run-simulation.ts --schedules N --seed S --break 'no owner token'    with a service broken by breaks.ts
 *
 * Runs schedules S, S + 1, …, S + N - 1, with progress, until one of them is violated.
 */
async function main(): Promise<void> {
  const { code } = await runSimulation(process.argv.slice(2), console.log);
  process.exitCode = code ?? 1;
}

void main();
