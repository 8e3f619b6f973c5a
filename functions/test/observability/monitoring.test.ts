import { globSync, readFileSync } from 'node:fs';
import loggingProtos from '@google-cloud/logging-api/build/protos/protos.json';
import dashboardProtos from '@google-cloud/monitoring-dashboards/build/protos/protos.json';
import monitoringProtos from '@google-cloud/monitoring/build/protos/protos.json';
import { fromProto3JSON, toProto3JSON } from 'proto3-json-serializer';
import { Root } from 'protobufjs';
import { runProgramSync } from '../../../test/support/programs';
import * as functions from '../../src';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { runCommand } from '../cli/command';
import { operationNames, type OperationName } from '../support/operations';
import { submitAndFail, updateKey, writeMarket } from '../support/price-lists';
import { useTestService, type LogLine } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { matchesFilter, type LogEntry } from './log-filter';

/**
 * Google's protos accept the files of docs/monitoring, and the lines that the service writes in an
 * outage match the filter of its policy. Metrics of the platform itself are only parsed.
 */

interface Policy {
  documentation: { content: string };
  conditions: { conditionMatchedLog?: { filter: string }; conditionThreshold?: { filter: string } }[];
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
const readMetricFilter = (name: string) => (readFile(`metrics/${name}`) as { filter: string }).filter;

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
    for (const [, metric = ''] of text.matchAll(/logging\.googleapis\.com\/user\/(\w+)/g)) readMetricFilter(metric);
    for (const [, slo = ''] of text.matchAll(/serviceLevelObjectives\/([\w-]+)/g)) readFile(`slos/${slo}`);
  },
);

/** Policies that fire when a line appears. Other policies count lines. */
const POLICIES_OF_LINES = ['creations-fail', 'instance-killed', 'key-needs-operator'];

const getFilters = (policy: string): string[] =>
  readPolicy(policy).conditions.flatMap(({ conditionMatchedLog, conditionThreshold }) => {
    const [, metric] = /logging\.googleapis\.com\/user\/(\w+)/.exec(conditionThreshold?.filter ?? '') ?? [];
    return [conditionMatchedLog?.filter, metric && readMetricFilter(metric)].filter((filter) => filter !== undefined);
  });

const getMatchingPolicies = (entries: LogEntry[]): string[] =>
  POLICIES_OF_LINES.filter((policy) =>
    getFilters(policy).some((filter) => entries.some((entry) => matchesFilter(filter, entry))),
  );

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

const submission = createPriceListBody(3, { boq_list_id: 'boq-1' });
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

test.each<[outage: string, policies: string[], writer: string, run: () => Promise<LogLine[]>]>([
  [
    'a key that the sweep leaves to an operator',
    ['creations-fail', 'key-needs-operator'],
    'sweepPriceLists',
    () => sweepCrashedKey({ automatic_resumes: 3 }),
  ],
  [
    'a creation that failed for a cause that persists',
    ['creations-fail', 'key-needs-operator'],
    'sweepPriceLists',
    async () => {
      await submitAndFail(service, submission);
      return sweep();
    },
  ],
  [
    'a key record that cannot be read',
    ['key-needs-operator'],
    'sweepPriceLists',
    async () => {
      await keyRecord().set({ schema_version: 99, sweep_due_at: 1 });
      return sweep();
    },
  ],
  [
    'a price list that becomes ready too late',
    ['creations-fail'],
    'sweepPriceLists',
    () => sweepCrashedKey({ claimed_at: 1 }),
  ],
  [
    'a submission that cannot be claimed',
    ['creations-fail'],
    'addPriceLists',
    () => {
      service.firestore.faults.inject({
        rpc: 'Commit',
        times: Infinity,
        action: { kind: 'error', code: 'PERMISSION_DENIED' },
      });
      return logOf(() => service.call('addPriceLists', { json: submission }));
    },
  ],
  ['a creation in time', [], 'addPriceLists', () => logOf(() => service.call('addPriceLists', { json: submission }))],
  ['a sweep that resumes in time', [], 'sweepPriceLists', () => sweepCrashedKey({})],
])('%s matches the policies %j', async (_, policies, writer, run) => {
  const lines = await run();
  expect(lines.length).toBeGreaterThan(0);
  expect(getMatchingPolicies(lines.map((line) => toEntry(writer, line)))).toEqual(policies);
  // Another system in the project may write the same lines.
  expect(getMatchingPolicies(lines.map((line) => toEntry('other', line)))).toEqual([]);
});

test('a sweep that ends counts as a sweep, and a sweep that cannot read the keys does not', async () => {
  const isSign = (lines: LogLine[]) =>
    lines.some((line) => matchesFilter(readMetricFilter('sweeps'), toEntry('sweepPriceLists', line)));
  expect(isSign(await sweep())).toBe(true);
  service.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
  const failed = await sweep();
  expect(failed).toMatchObject([{ event: 'sweep_failed' }]);
  expect(isSign(failed)).toBe(false);
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
  const counted = getFilters('audit').map((filter) => entries.map((entry) => matchesFilter(filter, entry)));
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
  expect(getMatchingPolicies(entries)).toEqual(['instance-killed']);
});
