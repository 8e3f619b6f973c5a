import { readFileSync } from 'node:fs';
import { runProgramSync } from '../../../test/support/programs';
import { ERROR_DEFINITIONS } from '../../src/lib/errors';
import { operationNames } from '../support/operations';
import {
  getObjectiveFilters,
  parseObjectiveSelector,
  readMonitoringFiles,
  type Condition,
  type Objective,
} from './monitoring-files';

/**
 * The metrics, objectives, alert policies and dashboard in docs/monitoring, against the fields that Google documents, what
 * the service logs, and the page that they send to.
 */

// Reading them checks each field: monitoring-files.ts.
const files = readMonitoringFiles();
const { metrics, objectives, policies, service, dashboard } = files;
const everything = [...metrics, ...objectives, ...policies, service, dashboard].map(({ path, text }) => [path, text]);
const operations = readFileSync('docs/operations.md', 'utf8');
const runbook = readFileSync('docs/runbook.md', 'utf8');

const metricsByName = new Map(metrics.map(({ content }) => [content.name, content]));

/** Fields of the log lines, as the page describes them, which the tests of the log hold against the lines. */
const fields = new Set([...operations.matchAll(/`(\w+)`/g)].map(([, name]) => name));

const LOG_METRIC = /metric\.type="logging\.googleapis\.com\/user\/(\w+)"/;

interface Query {
  filter: string;
  groupByFields: string[];
}

/** Every filter of time series in a file, with the labels that it is grouped by. */
function findQueries(value: unknown): Query[] {
  if (Array.isArray(value)) return value.flatMap(findQueries);
  if (typeof value !== 'object' || value === null) return [];
  const { filter, aggregation, aggregations } = value as Record<string, unknown>;
  const inner = Object.values(value).flatMap(findQueries);
  if (typeof filter !== 'string') return inner;
  const [grouped] = [aggregations, [aggregation]].flat() as ({ groupByFields?: string[] } | undefined)[];
  return [{ filter, groupByFields: grouped?.groupByFields ?? [] }, ...inner];
}

/** Queries of alerts, dashboard and objectives. */
const queries: [string, Query][] = [
  ...[...policies, dashboard].flatMap(({ path, content }) =>
    findQueries(content).map((query): [string, Query] => [path, query]),
  ),
  ...objectives.flatMap(({ path, content }) =>
    getObjectiveFilters(content).map((filter): [string, Query] => [path, { filter, groupByFields: [] }]),
  ),
];

test.each(everything)('%s names fields, events and errors that there are', (_, text = '') => {
  for (const [, field = ''] of text.matchAll(/jsonPayload\.(\w+)/g)) expect(['event', ...fields]).toContain(field);
  for (const [, event = ''] of text.matchAll(/jsonPayload\.event=\\"(\w+)\\"/g))
    expect(['request', ...fields]).toContain(event);
  for (const [, code = ''] of text.matchAll(/jsonPayload\.error_code!?=\\"(\w+)\\"/g))
    expect(Object.keys(ERROR_DEFINITIONS)).toContain(code);
  for (const [, name = ''] of text.matchAll(/operation!?=\\"(\w+)\\"/g)) expect(operationNames).toContain(name);
});

test('a metric is deployed under the name of its file', () => {
  expect(metrics.map(({ content }) => content.name)).toEqual(metrics.map(({ name }) => name));
});

test.each(queries)(
  '%s stands on metrics that there are, by labels that they have: %o',
  (_, { filter, groupByFields }) => {
    const name = LOG_METRIC.exec(filter)?.[1];
    if (name === undefined) {
      expect(filter).toMatch(/^select_slo_|metric\.type="(run|firestore)\.googleapis\.com\/|jsonPayload|textPayload/);
      return;
    }
    const metric = metricsByName.get(name);
    expect([name, metric?.name]).toEqual([name, name]);
    for (const [, label = ''] of [filter, ...groupByFields].join(' ').matchAll(/metric\.label\.(\w+)/g))
      expect(Object.keys(metric?.labelExtractors ?? {})).toContain(label);
  },
);

test.each(policies.map(({ path, content }) => [path, content] as const))(
  '%s tells what to do, in a section of the page that there is, and is in its table',
  (path, { documentation }) => {
    const section = /section "([^"]+)"/.exec(documentation.content)?.[1] ?? '';
    expect(operations).toContain(`\n### ${section}\n`);
    expect(operations).toContain(`](monitoring/${path})`);
  },
);

test('the runbook names no alert that is gone', () => {
  const [, table = ''] = runbook.split('### Alerts that lead here');
  const named = [...(table.split('\n## ')[0] ?? '').matchAll(/^\|.*\|.*\|$/gm)].flatMap(([row]) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name),
  );
  expect(named.length).toBeGreaterThan(3);
  for (const name of named) expect(policies.map((policy) => policy.name)).toContain(name);
});

test('every alert that names the runbook’s section is in the runbook', () => {
  const led = policies.filter(({ content }) =>
    content.documentation.content.includes('section "A price list requires review"'),
  );
  expect(led.length).toBeGreaterThan(2);
  for (const { name } of led) expect(runbook).toContain(`\`${name}\``);
});

describe('objectives', () => {
  const selectors = queries.flatMap(([path, { filter }]) => {
    const selector = parseObjectiveSelector(filter);
    return selector === undefined ? [] : [{ path, ...selector }];
  });

  test('are in the table of the page, by the goal of their names', () => {
    for (const { path, content } of objectives) {
      expect(operations).toContain(`](monitoring/${path})`);
      expect(operations).toContain(content.displayName);
      expect(content.displayName).toContain(`${Number((100 * content.goal).toFixed(2))} %`);
    }
  });

  test('are named, and their service, as the deployment creates them', () => {
    const deployment = readFileSync('docs/deployment.md', 'utf8');
    for (const selector of selectors) {
      expect(deployment).toContain(`service=${selector.service}\n`);
      expect(objectives.map(({ name }) => name)).toContain(selector.objective);
    }
  });

  test.each(objectives.map(({ name, content }) => [name, content] as const))(
    '%s has a fast and a slow burn, and is on the dashboard',
    (name) => {
      const ofPolicy = (kind: string) => {
        const policy = policies.find((each) => each.name === `${name}-${kind}-burn`)?.content;
        return [policy?.combiner, policy?.conditions.flatMap(toBurn)];
      };
      expect(ofPolicy('fast')).toEqual(['AND', [name, 3_600, 14.4, name, 300, 14.4]]);
      expect(ofPolicy('slow')).toEqual(['AND', [name, 21_600, 6, name, 1_800, 6]]);
      const charts = selectors.filter(({ path, objective }) => path === 'dashboard.json' && objective === name);
      expect(charts.map(({ selector }) => selector)).toEqual(['select_slo_budget_fraction', 'select_slo_burn_rate']);
    },
  );

  const toBurn = (condition: Condition): (string | number)[] => {
    if (!('conditionThreshold' in condition)) return [];
    const { filter, thresholdValue } = condition.conditionThreshold;
    const selector = parseObjectiveSelector(filter);
    return selector === undefined ? [] : [selector.objective, selector.lookbackSeconds, thresholdValue];
  };

  test('that cut a distribution do so at a bound of its buckets, where nothing has to be estimated', () => {
    const cuts = objectives.flatMap(({ content }) => findCut(content));
    expect(cuts.length).toBeGreaterThan(0);
    for (const { distributionFilter, range } of cuts) {
      const metric = metricsByName.get(LOG_METRIC.exec(distributionFilter)?.[1] ?? '');
      const buckets = metric?.bucketOptions;
      const bounds = buckets !== undefined && 'explicitBuckets' in buckets ? buckets.explicitBuckets.bounds : [];
      expect(bounds).toContain(range.max);
    }
  });

  const findCut = ({ serviceLevelIndicator: { requestBased } }: Objective) =>
    'distributionCut' in requestBased ? [requestBased.distributionCut] : [];
});

test('the alert on killed instances knows the text with which Node ends when its heap is full', () => {
  const fillHeap = 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length));';
  const { stderr, signal } = runProgramSync(process.execPath, ['--max-old-space-size=16', '--eval', fillHeap]);
  expect(signal).not.toBeNull();
  const [condition] = policies.find(({ name }) => name === 'killed')?.content.conditions ?? [];
  const filter =
    condition !== undefined && 'conditionMatchedLog' in condition ? condition.conditionMatchedLog.filter : '';
  // Node writes to standard error without a severity.
  const texts = [...filter.matchAll(/OR textPayload:"([^"]+)"\)$/g)].map(([, text = '']) => text);
  expect(texts).toHaveLength(1);
  expect(stderr).toContain(texts[0]);
});
