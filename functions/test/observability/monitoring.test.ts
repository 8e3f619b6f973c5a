import { globSync, readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import loggingProtos from '@google-cloud/logging-api/build/protos/protos.json';
import dashboardProtos from '@google-cloud/monitoring-dashboards/build/protos/protos.json';
import monitoringProtos from '@google-cloud/monitoring/build/protos/protos.json';
import { fromProto3JSON, toProto3JSON } from 'proto3-json-serializer';
import { Root } from 'protobufjs';
import { runProgramSync } from '../../../test/support/programs';
import * as functions from '../../src';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { runCommand } from '../cli/command';
import { operationNames, operations, type OperationName } from '../support/operations';
import { submitAndFail, updateKey, writeMarket } from '../support/price-lists';
import { useTestService, type LogLine } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { getValue, matchesFilter, type LogEntry } from './log-filter';

/**
 * Google's protos accept the files of docs/monitoring, and the lines that the service writes in an
 * outage match the filter of its policy. Metrics of the platform itself are only parsed.
 */

interface Policy {
  documentation: { content: string };
  conditions: {
    conditionMatchedLog?: { filter: string };
    conditionThreshold?: { filter: string; thresholdValue: number };
    conditionPrometheusQueryLanguage?: { query: string };
  }[];
}

interface Metric {
  filter: string;
  labelExtractors?: Record<string, string>;
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
const readMetricFilter = (name: string) => readMetric(name).filter;

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
    for (const [, ofFilter, ofQuery] of metrics) readMetricFilter(ofFilter ?? ofQuery ?? '');
    for (const [, slo = ''] of text.matchAll(/serviceLevelObjectives\/([\w-]+)/g)) readFile(`slos/${slo}`);
  },
);

/** Counts the entries of a metric whose labels meet selectors of PromQL, such as `status=~"429|5.."`. */
function count(metric: string, selectors: string, entries: LogEntry[]): number {
  const { filter, labelExtractors = {} } = readMetric(metric);
  const getLabel = (entry: LogEntry, name: string): string => {
    const [, path = `resource.labels.${name}`] = /^EXTRACT\((.*)\)$/.exec(labelExtractors[name] ?? '') ?? [];
    const value = getValue(entry, path) as string | number | undefined;
    return String(value ?? '');
  };
  const conditions = [...selectors.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)].filter(
    ([, name]) => name !== 'monitored_resource',
  );
  const isSelected = (entry: LogEntry) =>
    conditions.every(([, name = '', operator, value = '']) => {
      const label = getLabel(entry, name);
      return operator === '=~' ? new RegExp(`^(${value})$`).test(label) : (label === value) === (operator === '=');
    });
  return entries.filter((entry) => matchesFilter(filter, entry) && isSelected(entry)).length;
}

/** Evaluates a PromQL condition over the entries of its window, for each service that the query tells apart. */
function isMet(query: string, entries: LogEntry[]): boolean {
  const services = new Set(query.includes('by (service_name)') ? entries.map(getService) : [undefined]);
  return [...services].some((service) => {
    const own = service === undefined ? entries : entries.filter((entry) => getService(entry) === service);
    const sums = /sum(?: by \(service_name\) )?\(increase\(logging_googleapis_com:user_(\w+)\{(.*?)\}\[\w+\]\)\)/g;
    const numbers = query.replace(sums, (_, metric: string, selectors: string) =>
      // Without an entry a sum has no value, and no comparison with it holds.
      String(count(metric, selectors, own) || NaN),
    );
    const script = numbers
      .replaceAll(' or vector(0)', ' || 0')
      .replaceAll(' and ', ' && ')
      .replace(/ unless (.*)/, ' && !($1)');
    return runInNewContext(script) as boolean;
  });
}

const getService = ({ resource }: LogEntry) => resource.labels?.['service_name'];

/** Policies that compare with an earlier hour, or need more traffic than one read an hour. */
const NOT_AT_LOW_TRAFFIC = [
  'keys-in-review-rise',
  'reads-fail',
  'reads-slow',
  'creations-fail',
  'refused-keys',
  'audit',
];

/** Returns the policies that fire in an hour with only these entries. */
const getFiringPolicies = (entries: LogEntry[]): string[] =>
  policyNames
    .filter((name) => !NOT_AT_LOW_TRAFFIC.includes(name))
    .filter((name) =>
      readPolicy(name).conditions.some(
        ({ conditionMatchedLog, conditionThreshold, conditionPrometheusQueryLanguage }) => {
          if (conditionMatchedLog) return entries.some((entry) => matchesFilter(conditionMatchedLog.filter, entry));
          if (conditionPrometheusQueryLanguage) return isMet(conditionPrometheusQueryLanguage.query, entries);
          const { filter = '', thresholdValue = 0 } = conditionThreshold ?? {};
          const [, metric, label = '', value = ''] =
            /user\/(\w+)".* AND metric\.label\.(\w+)="(\w+)"$/.exec(filter) ?? [];
          return metric !== undefined && count(metric, `${label}="${value}"`, entries) > thresholdValue;
        },
      ),
    )
    .sort();

/** Wraps the line of a function as Cloud Run writes it into the log. */
const toEntry = (service: string, line: LogLine): LogEntry => ({
  resource: { type: 'cloud_run_revision', labels: { service_name: service.toLowerCase() } },
  jsonPayload: line,
});

const service = useTestService(functions);
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

const submission = createPriceListBody(3, { boq_list_id: 'boq-1', currency_iso: 'EGP' });
const keyRecord = () => service.db.doc(`price_list_idempotency/${keyDocumentId('boq-1')}`);

/** Runs a call, and returns the lines that the service logs meanwhile. */
async function logOf(call: () => Promise<unknown>): Promise<LogLine[]> {
  service.log.length = 0;
  await call();
  return [...service.log];
}

const sweep = () => logOf(async () => functions.sweepPriceLists.run({ scheduleTime: new Date().toISOString() }));

const CRASHED = { status: 'processing', failure: null, failure_cause: null, lease_expires_at: 1, sweep_due_at: 1 };

/** Returns the lines of a sweep over a creation that crashed. */
async function sweepCrashedKey(update: object): Promise<LogLine[]> {
  await submitAndFail(service, submission);
  await updateKey(keyRecord(), { ...CRASHED, ...update });
  return sweep();
}

/** Adds the entry of Cloud Run's request log. @param textPayload a text that Cloud Run adds if it rejects the request itself */
const toRequestEntries = (service: string, status: number, textPayload?: string): LogEntry[] => [
  {
    ...toEntry(service, {}),
    logName: 'run.googleapis.com/requests',
    httpRequest: { status, userAgent: 'curl' },
    ...(textPayload !== undefined && { textPayload }),
  },
];

const fail = (rpc: 'RunQuery' | 'Commit', code: 'PERMISSION_DENIED' | 'FAILED_PRECONDITION') =>
  service.firestore.faults.inject({ rpc, times: Infinity, action: { kind: 'error', code } });

/** Calls an operation once, as the only request of an hour. */
async function callOnce(name: OperationName, json?: object): Promise<LogEntry[]> {
  let status = 0;
  const lines = await logOf(async () => ({ status } = await service.call(name, json && { json })));
  return [...lines.map((line) => toEntry(name, line)), ...toRequestEntries(name, status)];
}

const ofSweep = async (lines: Promise<LogLine[]>) => (await lines).map((line) => toEntry('sweepPriceLists', line));

const FAILING_READS = ['reads-fail-at-low-traffic'];
const FAILING_CREATIONS = ['creations-fail-at-low-traffic'];
const TO_OPERATOR = [...FAILING_CREATIONS, 'key-needs-operator'];

const orders = { ...operations.getOrdersByTeam.body };

// One request an hour. The uptime checks below notice what stops every request of an operation.
test.each<[outage: string, policies: string[], run: () => Promise<LogEntry[]>]>([
  ['the secret is blank', FAILING_READS, () => (service.setConfig({ API_KEY: '' }), callOnce('getTeams'))],
  ['the reader has lost its role', FAILING_READS, () => (fail('RunQuery', 'PERMISSION_DENIED'), callOnce('getTeams'))],
  [
    'an index is missing',
    FAILING_READS,
    () => (fail('RunQuery', 'FAILED_PRECONDITION'), callOnce('getOrdersByTeam', orders)),
  ],
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
  [
    'the writer has lost its role',
    FAILING_CREATIONS,
    () => (fail('Commit', 'PERMISSION_DENIED'), callOnce('addPriceLists', submission)),
  ],
  ['a key is left to an operator', TO_OPERATOR, () => ofSweep(sweepCrashedKey({ automatic_resumes: 3 }))],
  [
    'a creation failed for a cause that persists',
    TO_OPERATOR,
    async () => {
      await submitAndFail(service, submission);
      return ofSweep(sweep());
    },
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
])('%s: the policies %j fire', async (_, policies, run) => {
  const entries = await run();
  const sweeping = toEntry('sweepPriceLists', { event: 'sweep_ended' });
  expect(getFiringPolicies([sweeping, ...entries])).toEqual(policies);
  // Another system in the project may write the same lines.
  const foreign = entries.map((entry) => ({
    ...entry,
    resource: { ...entry.resource, labels: { service_name: 'other' } },
  }));
  expect(getFiringPolicies([sweeping, ...foreign])).toEqual([]);
});

test('reads that fail now and then are noticed over six hours', () => {
  const reads = (failures: number) =>
    [200, 500].flatMap((status) =>
      Array.from({ length: status === 200 ? 1_000 : failures }, () => toRequestEntries('getTeams', status)).flat(),
    );
  const sweeping = toEntry('sweepPriceLists', { event: 'sweep_ended' });
  expect(getFiringPolicies([sweeping, ...reads(3)])).toEqual([]);
  expect(getFiringPolicies([sweeping, ...reads(6)])).toEqual(FAILING_READS);
});

test('a sweep that stopped, never ran, or cannot read the keys is noticed, and a paused one only after a day', async () => {
  expect(getFiringPolicies(await ofSweep(sweep()))).toEqual([]);
  expect(getFiringPolicies([])).toEqual(['sweep-stopped']);
  fail('RunQuery', 'PERMISSION_DENIED');
  expect(getFiringPolicies(await ofSweep(sweep()))).toEqual(['sweep-stopped']);
  service.setConfig({ WRITES_PAUSED: 'true' });
  const [paused] = await ofSweep(sweep());
  expect(paused?.jsonPayload).toMatchObject({ event: 'sweep_paused' });
  expect(getFiringPolicies(paused ? [paused] : [])).toEqual([]);
  expect(getFiringPolicies(paused ? Array.from({ length: 1_440 }, () => paused) : [])).toEqual(['writes-paused']);
});

test('an audit that ends is counted, and so is a violation that it finds', async () => {
  await service.db.doc('price_lists/of-nothing').set({ status: 'ready' });
  const { out } = await runCommand('audit', '--json');
  const lines = out.split('\n').filter(Boolean);
  const entries = lines.map((line): LogEntry => ({
    logName: 'audit',
    resource: { type: 'global' },
    jsonPayload: JSON.parse(line) as LogLine,
  }));
  const filters = ['audit_violations', 'audits'].map(readMetricFilter);
  const counted = filters.map((filter) => entries.map((entry) => matchesFilter(filter, entry)));
  expect(counted).toEqual([
    [true, false],
    [false, true],
  ]);
});

test.each(operationNames)('the line of %s is counted', async (name) => {
  const [line = {}] = await logOf(() => service.call(name, { headers: { 'x-api-key': undefined } }));
  expect(matchesFilter(readMetricFilter('requests'), toEntry(name, line))).toBe(true);
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
  const sweeping = toEntry('sweepPriceLists', { event: 'sweep_ended' });
  expect(getFiringPolicies([sweeping, ...entries])).toEqual(['instance-killed']);
});
