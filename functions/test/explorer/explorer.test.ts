import { BREAKS } from './breaks';
import { explore, formatViolation } from './explore';
import { PROTOCOL, type Scenario } from './moves';
import { PROPERTIES } from './properties';
import { SCENARIOS } from './scenarios';

/** The whole space of each scenario: docs/reliability.md, "Exploration". */

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

test.each(Object.values(SCENARIOS).map((scenario): [string, Scenario] => [scenario.name, scenario]))(
  'every state of %s has every property',
  (name, scenario) => {
    const begun = performance.now();
    const { states, transitions, depth, violation } = explore(scenario, PROTOCOL);
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    print(`${name}: ${states} states, ${transitions} transitions, depth ${depth}, ${seconds} s`);
    if (violation !== null) throw new Error(formatViolation(violation));
  },
  300_000,
);

test('every property is violated by a break', () => {
  expect(new Set(Object.values(BREAKS).map(({ property }) => property))).toEqual(new Set(Object.keys(PROPERTIES)));
});

/** Tests of the tests: without a seed, and each for the property that the broken condition is for. */
test.each(Object.entries(BREAKS))(
  '%s is found',
  (name, { property, scenario, protocol, lastStep }) => {
    const { violation } = explore(SCENARIOS[scenario], protocol, [property]);
    if (violation === null) throw new Error(`every state of ${SCENARIOS[scenario].name} has the property`);
    const text = formatViolation(violation);
    print(`${name}, with ${SCENARIOS[scenario].name}\n${text}\n`);
    expect(violation.property).toBe(property);
    expect(text).toContain(`violated: ${PROPERTIES[property]}\n  1. `);
    expect(violation.path.at(-1)).toMatch(lastStep);
  },
  300_000,
);
