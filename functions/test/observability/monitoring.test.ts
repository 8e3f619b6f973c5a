import { globSync, readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';
import loggingProtos from '@google-cloud/logging-api/build/protos/protos.json';
import dashboardProtos from '@google-cloud/monitoring-dashboards/build/protos/protos.json';
import monitoringProtos from '@google-cloud/monitoring/build/protos/protos.json';
import { fromProto3JSON, toProto3JSON } from 'proto3-json-serializer';
import { Root } from 'protobufjs';
import { runProgramSync } from '../../../test/support/programs';
import * as functions from '../../src';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { parseLines, runCommand } from '../cli/command';
import { operationNames, type OperationName } from '../support/operations';
import { submitAndFail, updateKey, writeMarket } from '../support/price-lists';
import { CRASHED } from '../support/price-list-service';
import { useTestService, type LogLine } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { getValue, matchesFilter, type LogEntry } from './log-filter';

/**
 * Google's protos accept the files of docs/monitoring, and the lines that the service writes in an
 * outage match the filter of its policy. Metrics of the platform itself, and the objective of latency, are only parsed.
 */

interface Policy {
  documentation: { content: string };
  combiner: 'AND' | 'OR';
  conditions: {
    conditionMatchedLog?: { filter: string };
    conditionThreshold?: Threshold;
    conditionPrometheusQueryLanguage?: { query: string; duration: string };
  }[];
}

interface Threshold {
  filter: string;
  comparison: 'COMPARISON_GT' | 'COMPARISON_LT';
  thresholdValue: number;
  duration: string;
  aggregations?: { alignmentPeriod: string }[];
}

interface ServiceLevelObjective {
  goal: number;
  serviceLevelIndicator: {
    requestBased: { goodTotalRatio?: { goodServiceFilter: string; badServiceFilter: string } };
  };
}

interface Metric {
  filter: string;
  labelExtractors?: Record<string, string>;
  valueExtractor?: string;
}

interface UptimeCheck {
  httpCheck: {
    requestMethod: string;
    path: string;
    body?: string;
    acceptedResponseStatusCodes: { statusValue: number }[];
  };
  contentMatchers: { content: string }[];
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const readFile = (name: string): unknown => readJson(`docs/monitoring/${name}.json`);
const policyNames = globSync('docs/monitoring/alerts/*.json').map((path) => path.replace(/.*\/(.*)\.json/, '$1'));
const readPolicy = (name: string) => readFile(`alerts/${name}`) as Policy;
const readMetric = (name: string) => readFile(`metrics/${name}`) as Metric;

const TYPES = {
  alerts: [monitoringProtos, 'google.monitoring.v3.AlertPolicy'],
  slos: [monitoringProtos, 'google.monitoring.v3.ServiceLevelObjective'],
  uptime: [monitoringProtos, 'google.monitoring.v3.UptimeCheckConfig'],
  'service.json': [monitoringProtos, 'google.monitoring.v3.Service'],
  metrics: [loggingProtos, 'google.logging.v2.LogMetric'],
  'dashboard.json': [dashboardProtos, 'google.monitoring.dashboard.v1.Dashboard'],
} as const;

test.each(globSync('docs/monitoring/**/*.json'))('%s is what Google’s protos define, and nothing else', (path) => {
  const kind = path.split('/')[2] as keyof typeof TYPES;
  const [protos, type] = TYPES[kind];
  const file = readJson(path) as object;
  const message = fromProto3JSON(Root.fromJSON(protos).lookupType(type), file as never);
  // The conversion drops a member that the proto does not define.
  expect(message && toProto3JSON(message)).toMatchObject(file);
});

test.each(policyNames)(
  'the policy %s names a section of the runbook, and metrics and objectives that exist',
  (name) => {
    const { documentation, conditions } = readPolicy(name);
    const [, section = ''] = /What to do: docs\/runbook\.md, section "(.+)"\.$/.exec(documentation.content) ?? [];
    expect(readFileSync('docs/runbook.md', 'utf8')).toContain(`\n## ${section}\n`);
    const text = JSON.stringify(conditions);
    const metrics = text.matchAll(/logging\.googleapis\.com\/user\/(\w+)|googleapis_com:user_(\w+?)(_sum|_count)?\{/g);
    for (const [, ofFilter, ofQuery] of metrics) readMetric(ofFilter ?? ofQuery ?? '');
    for (const [, slo = ''] of text.matchAll(/serviceLevelObjectives\/([\w-]+)/g)) readFile(`slos/${slo}`);
  },
);

const toMinutes = (text: string): number => parseInt(text) * { s: 1 / 60, m: 1, h: 60 }[text.at(-1) as 's' | 'm' | 'h'];

/** Returns the entries of a metric in a window that ends at the minute `now`, as points of Cloud Monitoring. */
function getPoints(metric: string, entries: LogEntry[], window: string, now: number) {
  const { filter, labelExtractors = {}, valueExtractor = '' } = readMetric(metric);
  const extract = (entry: LogEntry, extractor: string) =>
    getValue(entry, extractor.replace(/^EXTRACT\((.*)\)$/, '$1')) as string | number | undefined;
  return entries
    .filter(({ minute = 0 }) => minute > now - toMinutes(window) && minute <= now)
    .filter((entry) => matchesFilter(filter, entry))
    .map((entry) => {
      const extracted = Object.entries(labelExtractors).map(([name, each]) => [
        name,
        String(extract(entry, each) ?? ''),
      ]);
      const label = Object.fromEntries(extracted) as Record<string, string>;
      const { type, labels } = entry.resource;
      return { metric: { label }, resource: { type, label: labels }, value: Number(extract(entry, valueExtractor)) };
    });
}

/** Returns whether a PromQL condition is met at a minute, by any one service if the query groups by service. */
function isQueryMet(query: string, entries: LogEntry[], now: number): boolean {
  const services = new Set(query.includes('by (service_name)') ? entries.map(getService) : [undefined]);
  const sums =
    /sum(?: by \(service_name\) )?\(increase\(logging_googleapis_com:user_(\w+?)(_sum|_count)?\{(.*?)\}\[(\w+)\](?: offset (\w+))?\)\)/g;
  return [...services].some((service) => {
    const own = service === undefined ? entries : entries.filter((entry) => getService(entry) === service);
    const getSum = (_: string, metric: string, part: string, labels: string, window: string, offset = '0m') => {
      const filter = labels.replace(/=~"([^"]*)"/g, '=~"^($1)$"').replaceAll('",', '" AND ');
      const selected = getPoints(metric, own, window, now - toMinutes(offset)).filter(({ metric, resource }) =>
        matchesFilter(filter, { ...resource.label, ...metric.label, monitored_resource: resource.type }),
      );
      // Without an entry a sum has no value, and no comparison with it holds.
      if (selected.length === 0) return 'NaN';
      return String(part === '_sum' ? selected.reduce((sum, { value }) => sum + value, 0) : selected.length);
    };
    const script = query
      .replace(sums, getSum)
      .replaceAll(' or vector(0)', ' || 0')
      .replaceAll(' and ', ' && ')
      .replace(/ unless (.*)/, ' && !($1)');
    return runInThisContext(script) as boolean;
  });
}

const getService = ({ resource }: LogEntry) => resource.labels?.['service_name'];

/** Counts the points in a window that a filter selects. Metrics of the platform have none here. */
function countPoints(filter: string, entries: LogEntry[], window: string, now: number): number {
  const [, metric] = /^metric\.type="logging\.googleapis\.com\/user\/(\w+)" AND /.exec(filter) ?? [];
  if (metric === undefined) return 0;
  const condition = filter.slice(filter.indexOf(' AND ') + ' AND '.length);
  return getPoints(metric, entries, window, now).filter((point) => matchesFilter(condition, point)).length;
}

/** Returns the burn rate of a service level: at 1, it misses exactly as often as its objective allows. */
function getBurnRate(slo: string, entries: LogEntry[], window: string, now: number): number {
  const { goal, serviceLevelIndicator } = readFile(`slos/${slo}`) as ServiceLevelObjective;
  const { goodTotalRatio } = serviceLevelIndicator.requestBased;
  // The objective of latency counts a distribution, which is not evaluated here.
  if (goodTotalRatio === undefined) return 0;
  const good = countPoints(goodTotalRatio.goodServiceFilter, entries, window, now);
  const bad = countPoints(goodTotalRatio.badServiceFilter, entries, window, now);
  return bad === 0 ? 0 : bad / (good + bad) / (1 - goal);
}

function isThresholdMet(
  { filter, comparison, thresholdValue, aggregations }: Threshold,
  entries: LogEntry[],
  now: number,
): boolean {
  const [, slo, sloWindow = ''] = /serviceLevelObjectives\/([\w-]+)", "(\w+)"/.exec(filter) ?? [];
  const value =
    slo === undefined
      ? countPoints(filter, entries, aggregations?.[0]?.alignmentPeriod ?? '', now)
      : getBurnRate(slo, entries, sloWindow, now);
  return comparison === 'COMPARISON_LT' ? value < thresholdValue : value > thresholdValue;
}

/** Returns the policies that fire at a minute. A condition with a duration must hold at its start and at its end. */
const getFiringPolicies = (entries: LogEntry[], now = 0): string[] =>
  policyNames
    .filter((name) => {
      const { combiner, conditions } = readPolicy(name);
      const met = conditions.map(({ conditionMatchedLog, conditionThreshold, conditionPrometheusQueryLanguage }) => {
        if (conditionMatchedLog)
          return entries.some(
            (entry) => (entry.minute ?? 0) <= now && matchesFilter(conditionMatchedLog.filter, entry),
          );
        const { duration = '0s' } = conditionThreshold ?? conditionPrometheusQueryLanguage ?? {};
        return [now - toMinutes(duration), now].every((minute) =>
          conditionThreshold
            ? isThresholdMet(conditionThreshold, entries, minute)
            : isQueryMet(conditionPrometheusQueryLanguage?.query ?? '', entries, minute),
        );
      });
      return combiner === 'AND' ? met.every(Boolean) : met.some(Boolean);
    })
    .sort();

/** Wraps the line of a function as Cloud Run writes it into the log. */
const toEntry = (service: string, line: LogLine, minute = 0): LogEntry => ({
  minute,
  resource: { type: 'cloud_run_revision', labels: { service_name: service.toLowerCase() } },
  jsonPayload: line,
});

const toAuditEntry = (line: LogLine, minute = 0): LogEntry => ({
  minute,
  logName: 'audit',
  resource: { type: 'global' },
  jsonPayload: line,
});

/** Creates the entry of a sweep every five minutes, from one minute to another. */
const createSweeps = (from: number, to: number, requires_review = 0): LogEntry[] =>
  Array.from({ length: (to - from) / 5 + 1 }, (_, i) =>
    toEntry('sweepPriceLists', { event: 'sweep_ended', requires_review }, from + 5 * i),
  );
const AUDIT = toAuditEntry({ event: 'audit_completed' }, -60);

const service = useTestService(functions);
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

const submission = createPriceListBody(3, { boq_list_id: 'boq-1', currency_iso: 'EGP' });
const keyRecord = () => service.db.doc(`price_list_idempotency/${keyDocumentId('boq-1')}`);

/** Runs a call, and returns the lines that the service logs during it. */
async function logOf(call: () => Promise<unknown>): Promise<LogLine[]> {
  service.log.length = 0;
  await call();
  return [...service.log];
}

const sweep = () => logOf(async () => functions.sweepPriceLists.run({ scheduleTime: new Date().toISOString() }));

/** Returns the lines of a sweep over a creation that crashed. */
async function sweepCrashedKey(update: object): Promise<LogLine[]> {
  await submitAndFail(service, submission);
  await updateKey(keyRecord(), { ...CRASHED, ...update });
  return sweep();
}

/** Returns the entry of Cloud Run's request log. @param textPayload a text that Cloud Run adds if it rejects the request itself */
const toRequestEntries = (service: string, status: number, textPayload?: string, minute = 0): LogEntry[] => [
  {
    ...toEntry(service, {}, minute),
    logName: 'run.googleapis.com/requests',
    httpRequest: { status, userAgent: 'curl' },
    ...(textPayload !== undefined && { textPayload }),
  },
];

/** What the log holds without an outage: sweeps, an audit, and one request of each operation an hour ago. */
const HEALTHY = [
  ...createSweeps(-90, 20),
  AUDIT,
  ...operationNames.flatMap((name) => toRequestEntries(name, 200, '', -60)),
];

const deny = (rpc: 'RunQuery' | 'Commit') =>
  service.firestore.faults.inject({ rpc, times: Infinity, action: { kind: 'error', code: 'PERMISSION_DENIED' } });

/** Calls an operation. @returns the entries of the call */
async function callOnce(name: OperationName, json?: object): Promise<LogEntry[]> {
  let status = 0;
  const lines = await logOf(async () => ({ status } = await service.call(name, json && { json })));
  return [...lines.map((line) => toEntry(name, line)), ...toRequestEntries(name, status)];
}

const ofSweep = async (lines: Promise<LogLine[]>) => (await lines).map((line) => toEntry('sweepPriceLists', line));

const FAILING_READS = ['reads-fail-at-low-traffic'];
const FAILING_CREATIONS = ['creations-fail-at-low-traffic'];

// An operation gets at most one request in the last hour.
test.each<[outage: string, policies: string[], run: () => Promise<LogEntry[]>]>([
  ['the secret is blank', FAILING_READS, () => (service.setConfig({ API_KEY: '' }), callOnce('getTeams'))],
  [
    'no instance of a read starts',
    FAILING_READS,
    () => Promise.resolve(toRequestEntries('getTeams', 503, 'not available')),
  ],
  [
    'all instances of a read are busy',
    FAILING_READS,
    () => Promise.resolve(toRequestEntries('getTeams', 429, 'no instance')),
  ],
  [
    'another operation still succeeds',
    FAILING_READS,
    async () => [...(await callOnce('getMarkets')), ...toRequestEntries('getTeams', 500)],
  ],
  [
    'no instance of add price lists starts',
    FAILING_CREATIONS,
    () => Promise.resolve(toRequestEntries('addPriceLists', 503, 'x')),
  ],
  ['the writer has lost its role', FAILING_CREATIONS, () => (deny('Commit'), callOnce('addPriceLists', submission))],
  [
    'a key is left to an operator',
    [...FAILING_CREATIONS, 'key-needs-operator'],
    () => ofSweep(sweepCrashedKey({ automatic_resumes: 3 })),
  ],
  [
    'a key record cannot be read',
    ['key-needs-operator'],
    async () => {
      await keyRecord().set({ schema_version: 99, sweep_due_at: 1 });
      return ofSweep(sweep());
    },
  ],
  ['a price list becomes ready too late', FAILING_CREATIONS, () => ofSweep(sweepCrashedKey({ claimed_at: 1 }))],
  [
    'a market does not exist',
    ['list-not-usable'],
    () => callOnce('addPriceLists', createPriceListBody(3, { market_id: 'unknown' })),
  ],
  [
    'the prices are in another currency',
    ['list-not-usable'],
    () => callOnce('addPriceLists', createPriceListBody(3, { currency_iso: 'XTS' })),
  ],
  ['nothing: a read succeeds', [], () => callOnce('getTeams')],
  ['nothing: a creation is in time', [], () => callOnce('addPriceLists', submission)],
  ['nothing: a sweep resumes in time', [], () => ofSweep(sweepCrashedKey({}))],
  [
    'nothing: writes are paused',
    [],
    () => (service.setConfig({ WRITES_PAUSED: 'true' }), callOnce('addPriceLists', submission)),
  ],
])('%s: the policies %j fire at once', async (_, policies, run) => {
  const entries = await run();
  expect(getFiringPolicies([...HEALTHY, ...entries])).toEqual(policies);
  // Another system in the project can write the same lines.
  const foreign = entries.map((entry) => ({
    ...entry,
    resource: { ...entry.resource, labels: { service_name: 'other' } },
  }));
  expect(getFiringPolicies([...HEALTHY, ...foreign])).toEqual([]);
});

const LATE = 700_000;
const toCompletion = (since_claim_ms: number, minute: number): LogEntry[] => [
  toEntry('addPriceLists', { event: 'price_list_completed', since_claim_ms, outcome: 'created' }, minute),
];

test.each<[what: string, bad: number, good: number, minute: number, policies: string[]]>([
  ['reads', 3, 1_000, -300, []],
  ['reads', 6, 1_000, -300, FAILING_READS],
  ['reads', 6, 300, -50, FAILING_READS],
  ['reads', 6, 300, -2, ['reads-fail', ...FAILING_READS]],
  ['creations', 6, 1_000, -300, []],
  ['creations', 6, 100, -300, FAILING_CREATIONS],
  ['creations', 6, 100, -30, ['creations-fail', ...FAILING_CREATIONS]],
])('%s of which %d fail and %d succeed at minute %d: the policies %j fire', (what, bad, good, minute, policies) => {
  const create = (isGood: boolean) =>
    what === 'reads'
      ? toRequestEntries('getTeams', isGood ? 200 : 500, '', minute)
      : toCompletion(isGood ? 1_000 : LATE, minute);
  const entries = Array.from({ length: bad + good }, (_, i) => create(i >= bad)).flat();
  expect(getFiringPolicies([...HEALTHY, ...entries])).toEqual(policies);
});

test('51 requests with a refused key are noticed, and 50 are not', () => {
  const refused = (count: number) => Array.from({ length: count }, () => toRequestEntries('getTeams', 401)).flat();
  expect(getFiringPolicies([...HEALTHY, ...refused(50)])).toEqual([]);
  expect(getFiringPolicies([...HEALTHY, ...refused(51)])).toEqual(['refused-keys']);
});

test('a key in review whose own line was lost is noticed by the lines of the sweeps', () => {
  const sweeps = [...createSweeps(-90, -30), ...createSweeps(-25, 0, 1)];
  expect(getFiringPolicies([AUDIT, ...sweeps])).toEqual(['keys-in-review-rise']);
});

test('a sweep that stopped, never ran, or cannot read the keys is noticed, and a pause only if it lasts most of a day', async () => {
  const stopped = [15, 16].map((minute) => getFiringPolicies([AUDIT, ...createSweeps(-90, 0)], minute));
  expect(stopped).toEqual([[], ['sweep-stopped']]);
  expect(getFiringPolicies([AUDIT])).toEqual(['sweep-stopped']);
  deny('RunQuery');
  expect(getFiringPolicies([AUDIT, ...(await ofSweep(sweep()))])).toEqual(['sweep-stopped']);
  service.setConfig({ WRITES_PAUSED: 'true' });
  const [paused] = await ofSweep(sweep());
  expect(paused?.jsonPayload).toMatchObject({ event: 'sweep_paused' });
  const pauses = Array.from({ length: 1_440 }, (_, i) => ({ ...AUDIT, ...paused, minute: -i }));
  expect(getFiringPolicies([AUDIT, ...pauses.slice(0, 100)])).toEqual([]);
  expect(getFiringPolicies([AUDIT, ...pauses])).toEqual(['writes-paused']);
});

test('a violation that an audit finds is noticed, and so is an audit that has not run for 36 hours', async () => {
  await service.db.doc('price_lists/of-nothing').set({ status: 'ready' });
  const { out } = await runCommand('audit', '--json');
  const entries = (parseLines(out) as LogLine[]).map(toAuditEntry);
  const sweeps = createSweeps(-90, 20);
  expect(getFiringPolicies([...sweeps, ...entries])).toEqual(['audit']);
  const completed = { ...AUDIT, minute: -36 * 60 };
  expect(getFiringPolicies([...sweeps, { ...completed, minute: completed.minute + 1 }])).toEqual([]);
  expect(getFiringPolicies([...sweeps, completed])).toEqual(['audit']);
});

test('the metrics of events, outcomes, success and requests count the lines of a creation', async () => {
  const entries = await callOnce('addPriceLists', submission);
  const metrics = ['price_list_events', 'price_list_outcomes', 'creations_in_time', 'requests', 'platform_requests'];
  expect(metrics.map((metric) => getPoints(metric, entries, '1m', 0).length)).toEqual([2, 1, 1, 1, 1]);
});

test.each(operationNames)('the metric of requests counts the line of %s', async (name) => {
  const [line = {}] = await logOf(() => service.call(name, { headers: { 'x-api-key': undefined } }));
  expect(matchesFilter(readMetric('requests').filter, toEntry(name, line))).toBe(true);
});

describe('the uptime check', () => {
  const check = async (name: OperationName): Promise<boolean> => {
    const { httpCheck, contentMatchers } = readFile(`uptime/${name}`) as UptimeCheck;
    expect(httpCheck.path).toBe(`/${name}`);
    const { requestMethod: method, body } = httpCheck;
    const content = body !== undefined && { body: Buffer.from(body, 'base64').toString() };
    const { status, text } = await service.call(name, {
      method,
      headers: { 'x-api-key': undefined },
      ...content,
    });
    const isAccepted = httpCheck.acceptedResponseStatusCodes.some(({ statusValue }) => statusValue === status);
    return isAccepted && contentMatchers.every((matcher) => text.includes(matcher.content));
  };

  test.each(operationNames)('of %s passes, and fails without an API key setting', async (name) => {
    expect(await check(name)).toBe(true);
    service.setConfig({ API_KEY: '' });
    expect(await check(name)).toBe(false);
  });
});

test('a process with a full heap ends with a text that matches the policy on killed instances', () => {
  const fillHeap = 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length));';
  const { stderr } = runProgramSync(process.execPath, ['--max-old-space-size=16', '--eval', fillHeap]);
  const entries = stderr.split('\n').map((textPayload): LogEntry => ({ ...toEntry('getTeams', {}), textPayload }));
  expect(getFiringPolicies([...HEALTHY, ...entries])).toEqual(['instance-killed']);
});
