import { BREAKS } from './breaks';
import { runSimulation } from './program';

/** Tests of the tests: the service is broken on purpose, and the simulation must catch it within these schedules. */
const SCHEDULES = 300;

let text: string;

beforeAll(async () => {
  const breaks = Object.keys(BREAKS).flatMap((name) => ['--break', name]);
  ({ text } = await runSimulation(['--seed', '1', '--schedules', String(SCHEDULES), ...breaks]));
}, 300_000);

test.each(Object.entries(BREAKS))('%s is caught', (name, { caught }) => {
  const [, told = ''] = text.split(`schedules from seed 1 with ${name}\n`);
  const [, violation = 'nothing'] = /^(seed \d+: .*?)\nnpx tsx .*$/ms.exec(told) ?? [];
  expect(told).toContain(`--break '${name}'`);
  expect(violation).toMatch(caught);
});
