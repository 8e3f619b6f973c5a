import { globSync, readFileSync } from 'node:fs';
import { write } from 'firebase-functions/logger';
import { runProgramSync } from '../../../test/support/programs';
import { ApiError, ERROR_DEFINITIONS } from '../../src/lib/errors';
import * as logging from '../../src/lib/logging';
import type { Phase } from '../../src/lib/request-context';
import { operationNames } from '../support/operations';

/** The metrics, objectives, alerts and dashboard of docs/monitoring name what the code writes, one another, and a section of a page. */

jest.mock('firebase-functions/logger');

/** Writes the lines of requests, attempts and sweeps that metrics and alerts may name, with each of their fields. */
function writeEveryLine(): void {
  const phases_ms: Record<Phase, number> = { body: 1, claim: 1, entries: 1, completion: 1, firestore: 1, client: 1 };
  const error = new ApiError('review_required', 'why', { needsOperator: true });
  const ids = {
    operation: 'addPriceLists',
    request_id: 'id',
    method: 'POST',
    key_id: 'id',
    origin: 'https://example.com',
  };
  const numbers = { status: 500, duration_ms: 1, firestore_calls: 1, retries: 0, count: 1, phases_ms };
  logging.logRequest({ ...ids, ...numbers, client_gone: true, replayed: false, error });
  const priceList = logging.createPriceListLogger('id');
  const attempt = { document_id: 'id', products_count: 1, creation: { price_list_id: 'id' } };
  priceList.claimed(attempt);
  priceList.completed(attempt, 1);
  priceList.failed(attempt, 'why', true);
  const swept = { document_id: 'id', trace_id: null, reason: 'why' };
  for (const result of ['resumed', 'deferred', 'left'] as const) logging.logSweptAttempt(result, swept, 1);
  logging.logUnreadableKey('path');
  const counts = { resumed: 1, deferred: 1, left: 1, requires_review: 1 };
  logging.logSweepEnded({ ...counts, duration_ms: 1, interrupted: false });
}

/** The fields of each event. Those of the audit are written by its command: functions/test/cli/audit.test.ts. */
const fields = new Map<unknown, string[]>([
  ['audit_violation', ['rule', 'path']],
  ['audit_completed', []],
]);
writeEveryLine();
for (const [entry] of jest.mocked(write).mock.calls) fields.set(entry['event'], Object.keys(entry));

const findAll = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

const files = globSync('docs/monitoring/**/*.json').map((path) => [path, readFileSync(path, 'utf8')] as const);
const read = (path: string) => files.find(([each]) => each === `docs/monitoring/${path}.json`)?.[1] ?? '';
const operations = readFileSync('docs/operations.md', 'utf8');

test.each(files)('%s names events, fields and errors that the code writes', (_, text) => {
  const named = findAll(text, /jsonPayload\.event=\\"(\w+)\\"/g);
  for (const event of named) expect([...fields.keys()]).toContain(event);
  const known = named.length > 0 ? named.flatMap((event) => fields.get(event) ?? []) : [...fields.values()].flat();
  for (const field of findAll(text, /jsonPayload\.(\w+)/g)) expect(['event', ...known]).toContain(field);
  for (const code of findAll(text, /error_code!?=\\"(\w+)\\"/g)) expect(Object.keys(ERROR_DEFINITIONS)).toContain(code);
  for (const name of findAll(text, /operation!?=\\"(\w+)\\"/g)) expect(operationNames).toContain(name);
  const services = [...operationNames, 'sweepPriceLists'].map((name) => name.toLowerCase());
  for (const name of findAll(text, /service_name!?=\\"(\w+)\\"/g)) expect(services).toContain(name);
});

test.each(files)('%s stands on metrics, labels, objectives and a section that there are', (path, text) => {
  const metrics = findAll(
    text,
    /(?:logging\.googleapis\.com\/user\/|logging_googleapis_com:user_)(\w+?)(?:_sum|_count)?[\\{]/g,
  );
  for (const name of metrics) expect(read(`metrics/${name}`)).toContain(`"name": "${name}"`);
  const labels = metrics.flatMap((name) => findAll(read(`metrics/${name}`), /"key": "(\w+)"/g));
  for (const label of findAll(text, /metric\.label\.(\w+)/g)) expect(labels).toContain(label);
  for (const name of findAll(text, /serviceLevelObjectives\/([\w-]+)/g)) expect(read(`slos/${name}`)).not.toBe('');
  const [section] = findAll(text, /section \\"([^"\\]+)\\"/g);
  expect(section !== undefined).toBe(path.includes('/alerts/'));
  if (section !== undefined) expect(operations).toContain(`\n### ${section}\n`);
});

test('no condition looks back for more than the 25 hours that Google allows', () => {
  for (const [, text] of files) {
    const { conditions = [] } = JSON.parse(text) as { conditions?: { conditionThreshold?: Threshold }[] };
    for (const { conditionThreshold } of conditions) {
      const [aggregation] = conditionThreshold?.aggregations ?? [];
      const periods = [aggregation?.alignmentPeriod, conditionThreshold?.duration];
      const seconds = periods.map((period = '0s') => Number.parseFloat(period));
      expect(seconds.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(25 * 3_600);
    }
  }
});

interface Threshold {
  duration: string;
  aggregations?: { alignmentPeriod: string }[];
}

test('the alert on killed instances knows the text with which Node ends when its heap is full', () => {
  const fillHeap = 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length));';
  const { stderr, signal } = runProgramSync(process.execPath, ['--max-old-space-size=16', '--eval', fillHeap]);
  expect(signal).not.toBeNull();
  const [text = ''] = findAll(read('alerts/killed'), /OR textPayload:\\"([^"\\]+)\\"\)"/g);
  expect(stderr).toContain(text || 'no text');
});
