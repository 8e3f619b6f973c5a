import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { getErrorMessage } from '../../functions/src/lib/errors';
import { logEvent } from '../../functions/src/lib/logging/event';
import { operationNames } from '../../dev/run/operations';
import { takeConsoleLines } from '../../test/harness/console';

/**
 * For several kinds of text that this repository sends to Google, tests that long ones are within Google's limit. The limits of
 * monitoring are in comments of google/monitoring/v3/alert.proto and google/logging/v2/logging_metrics.proto.
 */

const readAll = (kind: string) =>
  globSync(`deploy/monitoring/${kind}/*.json`).map((path) => ({
    id: basename(path, '.json'),
    value: JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>,
  }));

/** Returns the texts of a member, wherever it stands. */
function findTexts(value: unknown, name: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    key === name && typeof each === 'string' ? [each] : findTexts(each, name),
  );
}

const longest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => Buffer.byteLength(text)));

const alerts = readAll('alerts');
const metrics = readAll('metrics');

/** The longest of the patterns that create-monitoring.sh inserts for EVERY_FUNCTION, EVERY_OPERATION and EVERY_READ. */
const ALL_SERVICES = [...operationNames, 'sweepPriceLists'].join('|').toLowerCase();
const fillIn = (text: string): string => text.replace(/EVERY_\w+/g, ALL_SERVICES);

/** The id of a repository, which is a number of at most 2^63, and an environment that docs/deployment.md names. */
const SUBJECT = `${2n ** 63n}/production`;

test.each<[what: string, limit: number, sent: number]>([
  [
    'the display name of an alert or a condition',
    512,
    longest(alerts.flatMap(({ value }) => findTexts(value, 'displayName'))),
  ],
  ['the text of an alert', 8_192, longest(alerts.flatMap(({ value }) => findTexts(value, 'content')))],
  ['the filter of a condition', 2_048, longest(alerts.flatMap(({ value }) => findTexts(value, 'filter')).map(fillIn))],
  ['the id of a metric', 100, longest(metrics.map(({ id }) => id))],
  ['the description of a metric', 8_000, longest(metrics.flatMap(({ value }) => findTexts(value, 'description')))],
  ['the filter of a metric', 20_000, longest(metrics.flatMap(({ value }) => findTexts(value, 'filter')).map(fillIn))],
  // https://cloud.google.com/run/docs/reference/rest/v2/projects.locations.services: a service's name has at most 49 characters.
  ['the name of a service', 49, longest(ALL_SERVICES.split('|'))],
  // https://cloud.google.com/iam/docs/workload-identity-federation#mapping
  ['google.subject', 127, longest([SUBJECT])],
])('%s has at most %d bytes', (_, limit, sent) => {
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThanOrEqual(limit);
});

test('the longest log line of a request fits an entry of 256 KiB, and what a client chooses in it fits a label of 1,024 characters', () => {
  const lines: string[] = [];
  takeConsoleLines(([line]) => lines.push(String(line)) > 0);
  // The longest texts that a client, or for `key_id` an operator, chooses. A client also chooses `execution_id`, of at most 64 characters.
  const chosen = { request_id: 'x'.repeat(128), origin: 'x'.repeat(300), key_id: 'x'.repeat(32) };
  const reason = getErrorMessage(Object.assign(new Error(`3 INVALID_ARGUMENT: ${'x'.repeat(1_000_000)}`), { code: 3 }));
  logEvent('INFO', 'request', { ...chosen, reason, stack_trace: reason.repeat(11) });
  expect(longest(lines)).toBeGreaterThan(1_000);
  expect(longest(lines)).toBeLessThan(32 * 1024);
  expect(longest(Object.values(chosen))).toBeLessThan(1_024);
});
