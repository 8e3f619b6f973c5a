import { readdirSync, readFileSync } from 'node:fs';
import { runProgramSync } from '../../../test/support/programs';
import { ERROR_DEFINITIONS } from '../../src/lib/errors';
import { operationNames } from '../support/operations';

/** The alert policies, metrics and dashboard in docs/monitoring, against what the service logs and the page that they send to. */

const read = (folder: string) =>
  readdirSync(`docs/monitoring/${folder}`).map((file): [string, string] => [
    `${folder}/${file}`,
    readFileSync(`docs/monitoring/${folder}/${file}`, 'utf8'),
  ]);

const metrics = read('metrics');
const alerts = read('alerts');
const dashboard = readFileSync('docs/monitoring/dashboard.json', 'utf8');
const everything: [string, string][] = [...metrics, ...alerts, ['dashboard.json', dashboard]];
const operations = readFileSync('docs/operations.md', 'utf8');

interface Metric {
  name: string;
  labelExtractors: Record<string, string>;
}

const metricOf = new Map(metrics.map(([, text]) => [(JSON.parse(text) as Metric).name, JSON.parse(text) as Metric]));

/** Fields of the log lines, as the page describes them, which the tests of the log hold against the lines. */
const fields = new Set([...operations.matchAll(/`(\w+)`/g)].map(([, name]) => name));

test.each(everything)('%s names fields, events and errors that there are', (_, text) => {
  for (const [, field = ''] of text.matchAll(/jsonPayload\.(\w+)/g)) expect(['event', ...fields]).toContain(field);
  for (const [, event = ''] of text.matchAll(/jsonPayload\.event=\\"(\w+)\\"/g))
    expect(['request', ...fields]).toContain(event);
  for (const [, code = ''] of text.matchAll(/jsonPayload\.error_code=\\"(\w+)\\"/g))
    expect(Object.keys(ERROR_DEFINITIONS)).toContain(code);
  for (const [, name = ''] of text.matchAll(/operation!?=\\"(\w+)\\"/g)) expect(operationNames).toContain(name);
});

test.each(everything)('%s stands on metrics that there are, by labels that they have', (_, text) => {
  for (const [filter, name = ''] of text.matchAll(
    /logging\.googleapis\.com\/user\/(\w+)[^}]*?groupByFields":[^\]]*\]/g,
  )) {
    const metric = metricOf.get(name);
    expect([name, metric?.name]).toEqual([name, name]);
    for (const [, label = ''] of filter.matchAll(/metric\.label\.(\w+)/g)) {
      expect(Object.keys(metric?.labelExtractors ?? {})).toContain(label);
    }
  }
});

test.each(alerts)('%s tells what to do, in a section of the page that there is, and is in its table', (file, text) => {
  const { documentation, conditions } = JSON.parse(text) as {
    documentation: { content: string };
    conditions: unknown[];
  };
  const section = /section "([^"]+)"/.exec(documentation.content)?.[1] ?? '';
  expect(operations).toContain(`\n### ${section}\n`);
  expect(operations).toContain(`monitoring/${file}`);
  expect(conditions.length).toBeGreaterThan(0);
});

test('the alert on killed instances knows the text with which Node ends when its heap is full', () => {
  const fillHeap = 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length));';
  const { stderr, signal } = runProgramSync(process.execPath, ['--max-old-space-size=16', '--eval', fillHeap]);
  expect(signal).not.toBeNull();
  const { filter } = (
    JSON.parse(readFileSync('docs/monitoring/alerts/killed.json', 'utf8')) as {
      conditions: [{ conditionMatchedLog: { filter: string } }];
    }
  ).conditions[0].conditionMatchedLog;
  // Node writes to standard error without a severity.
  const texts = [...filter.matchAll(/OR textPayload:"([^"]+)"\)$/g)].map(([, text = '']) => text);
  expect(texts).toHaveLength(1);
  expect(stderr).toContain(texts[0]);
});
