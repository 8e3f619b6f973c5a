import { BREAKS } from './breaks';
import { SimulationHost, SimulationProgram } from './program';

/** Tests of the tests: the service is broken on purpose, and the simulation must catch it within these schedules. */
const SCHEDULES = 300;

/** Not in `beforeAll`, for which Jest's concurrent tests do not wait. */
const program = new SimulationProgram();

/** Two processes, for two processors: each takes every second break. */
const hosts = [new SimulationHost(program), new SimulationHost(program)] as const;

afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  program.remove();
});

test.concurrent.each(
  Object.entries(BREAKS).map(([name, { caught }], i) => [name, caught, hosts[i % 2 === 0 ? 0 : 1]] as const),
)(
  '%s is caught',
  async (name, caught, host) => {
    const { code, text } = await host.run({ seed: 1, schedules: SCHEDULES, breakName: name });
    const [violation = 'nothing'] = /^seed \d+: .*(?=\nnpx tsx)/ms.exec(text) ?? [];
    process.stdout.write(`${name}: ${violation.replaceAll(/\s+/g, ' ')}\n`);
    expect(violation).toMatch(caught);
    expect(code).toBe(1);
  },
  300_000,
);
