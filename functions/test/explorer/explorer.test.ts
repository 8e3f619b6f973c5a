import { BREAKS } from './breaks';
import { explore, formatViolation } from './explore';
import { KEY_MOVES } from './key-moves';
import { PROTOCOL, type Scenario } from './moves';
import { PROPERTIES, type Property } from './properties';
import { CLOCKS_BEYOND_MARGIN, SCENARIOS } from './scenarios';

/** The whole space of each scenario: docs/reliability.md, "Exploration". */

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** What commits and requests of all scenarios come to: no property may hold only for want of states. */
const OUTCOMES = [
  'completed, blocked',
  'completed, completed',
  'failed, blocked',
  'failed, failed',
  'leaseChecked, blocked',
  'leaseChecked, payload_mismatch',
  'payloadUnusable, blocked',
  'released, available',
  'released, blocked',
  'renewed, blocked',
  'renewed, owned',
  'result, available',
  'result, blocked',
  'result, completed',
  'result, failed',
  'result, payload_mismatch',
  'resumed, blocked',
  'resumed, owned',
  'submitted, blocked',
  'submitted, completed',
  'submitted, owned',
  'submitted, payload_mismatch',
];

const found = new Set<string>();
const foundKeyMoves = new Set<string>();

test.each(Object.values(SCENARIOS).map((scenario): [string, Scenario] => [scenario.name, scenario]))(
  'every state of %s has every property',
  (name, scenario) => {
    const begun = performance.now();
    const { states, transitions, depth, outcomes, keyMoves, violation } = explore(scenario, PROTOCOL);
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    print(`${name}: ${states} states, ${transitions} transitions, depth ${depth}, ${seconds} s`);
    if (violation !== null) throw new Error(formatViolation(violation));
    for (const outcome of outcomes) found.add(outcome);
    for (const move of keyMoves) foundKeyMoves.add(move);
  },
  300_000,
);

test('events and requests have every outcome that they can have', () => {
  expect([...found].sort()).toEqual(OUTCOMES);
});

test('a key moves only in the ways that the commits of the simulation are held against', () => {
  // One more move takes two resumes by a person, of which no scenario has room for both.
  const unfound = 'processing → processing, owner new, attempt same, resumes same, lists failed';
  expect([...foundKeyMoves, unfound].sort()).toEqual([...KEY_MOVES].sort());
});

test('clocks beyond the margin cost an attempt its key, and violate nothing else', () => {
  const ofTime: Property[] = ['lease_kept', 'write_under_lease'];
  for (const property of ofTime) {
    expect(explore(CLOCKS_BEYOND_MARGIN, PROTOCOL, [property]).violation?.property).toBe(property);
  }
  const others = (Object.keys(PROPERTIES) as Property[]).filter((property) => !ofTime.includes(property));
  expect(explore(CLOCKS_BEYOND_MARGIN, PROTOCOL, others).violation).toBeNull();
});

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
