import { globSync, readFileSync } from 'node:fs';
import * as functions from '../../functions/src';
import { logInstanceStarted, logInstanceStopped } from '../../functions/src/lib/logging/instances';
import { keyDocumentId } from '../../functions/src/lib/schemas/key-record';
import { parseLines, runCommand } from '../../test/harness/command';
import { operationNames, type OperationName } from '../../dev/run/operations';
import { CRASHED } from '../../test/harness/failed-attempts';
import { submitAndFail, updateKey, writeMarket } from '../../test/harness/price-lists';
import { useTestService, type LogLine } from '../../test/harness/service';
import { createPriceListBody } from '../../test/harness/submissions';

/**
 * Checks that the names in the files of deploy/monitoring, unless Google or audit.yml defines them, exist: in a line that the
 * service or the audit logs, in another of these files, or in the runbook. Also sends the requests of the uptime checks to the
 * service. What Google does with the files is not tested.
 */

const paths = globSync('deploy/monitoring/**/*.json').sort();
const policies = paths.filter((path) => path.includes('/alerts/'));
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Returns all texts of a file, without the quotes and escapes of JSON. */
function readTexts(path: string): string {
  const texts: string[] = [];
  JSON.stringify(readJson(path), (_, value: unknown) => {
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return texts.join('\n');
}

const service = useTestService(functions);
const sweep = async () => functions.sweepPriceLists.run({ scheduleTime: new Date().toISOString() });
const create = (boq_list_id: string, info = {}) =>
  service.call('addPriceLists', { json: createPriceListBody(3, { boq_list_id, ...info }) });
const keyRecord = (key: string) => service.db.doc(`price_list_idempotency/${keyDocumentId(key)}`);

/** Stores a key as a crash leaves it. @param failed_tries number of failed tries before the crash */
async function crash(key: string, failed_tries: number): Promise<void> {
  await submitAndFail(service, createPriceListBody(3, { boq_list_id: key }));
  await updateKey(keyRecord(key), { ...CRASHED, failed_tries });
}

/** Makes the service, and then the audit, write log lines that the filters select. */
async function logEvents(): Promise<LogLine[]> {
  await writeMarket(service.db);
  logInstanceStarted({ version: '1.0.0', commit: 'commit-1', node: 'v24' });
  logInstanceStopped({ exit_code: 0, unanswered: 0 });
  await service.call('getTeams', { headers: { 'x-api-key': 'wrong' } });
  await service.call('getTeams');
  await create('created', { currency_iso: 'EGP' });
  await create('other-currency', { currency_iso: 'XTS' });
  await create('no-market', { market_id: 'nowhere' });
  await crash('resumed', 0);
  await crash('left', 3);
  await keyRecord('unreadable').set({ schema_version: 99, sweep_due_at: 1 });
  await sweep();
  service.setConfig({ WRITES_PAUSED: 'true' });
  await create('paused');
  await sweep();
  await service.db.doc('price_lists/of-nothing').set({ status: 'ready' });
  return [...service.log, ...(parseLines((await runCommand('audit', '--json')).out) as LogLine[])];
}

/** The values of each field that was logged, and of each label, resource type and log that Google or the workflow of the audit adds. */
const values = new Map<string, Set<string>>([
  ['type', new Set(['cloud_run_revision', 'global', 'uptime_url', 'firestore.googleapis.com/Database'])],
  ['monitored_resource', new Set(['cloud_run_revision', 'global'])],
  ['service_name', new Set(Object.keys(functions).map((name) => name.toLowerCase()))],
  ['log_id', new Set(['audit', 'run.googleapis.com/requests'])],
  ['host', new Set(['us-central1-your-project.cloudfunctions.net'])],
  ...['check_id', 'revision_name'].map((label) => [label, new Set<string>()] as const),
]);

beforeAll(async () => {
  for (const [field, value] of (await logEvents()).flatMap(Object.entries)) {
    values.set(field, (values.get(field) ?? new Set()).add(String(value)));
  }
});

/** A field, a label or `log_id`, and the text or the list of texts that it is compared with. */
const COMPARISON =
  /(?:\b(?:jsonPayload|resource(?:\.labels?)?|metric\.label)\.|\b(?=log_id)|(?<!\$)[{,])(\w+)(?:(?:!?=|(?<=log_id))(\("[^)]*\)|"[^"]*"))?/g;

test.each(paths)('%s: every field, label and text has been logged, or Google or audit.yml adds it', (path) => {
  for (const [, name = '', operands = ''] of readTexts(path).matchAll(COMPARISON)) {
    expect([...values.keys()]).toContain(name);
    for (const [, text = ''] of operands.matchAll(/"([^"]+)"/g)) expect([...(values.get(name) ?? [])]).toContain(text);
  }
});

const PATTERN = /\b(?:jsonPayload|metric\.label)\.(\w+)=(?:~|monitoring\.regex\.full_match\()"([^"]*)"/g;

test.each(paths)('%s: every pattern for jsonPayload or metric.label matches a logged text', (path) => {
  for (const [, name = '', pattern = ''] of readTexts(path).matchAll(PATTERN)) {
    expect([...(values.get(name) ?? [])].join('\n')).toMatch(new RegExp(pattern, 'm'));
  }
});

test.each(paths)('%s: every log-based metric exists, and has the labels that the file names', (path) => {
  const text = readTexts(path);
  const metrics = [...text.matchAll(/user[/_](\w+?)(?:_sum|_count)?["{]/g)].map(
    ([, name]) => readJson(`deploy/monitoring/metrics/${name}.json`) as { labelExtractors?: object },
  );
  const labels = metrics.flatMap(({ labelExtractors = {} }) => Object.keys(labelExtractors));
  const named = [...text.matchAll(/(?:metric\.label\.|(?<!\$)[{,])(\w+)/g)].map(([, name]) => name);
  expect([...labels, 'service_name', 'monitored_resource', 'check_id']).toEqual(expect.arrayContaining(named));
});

test.each(policies)('%s: the objectives, the extracted labels and the section of the runbook exist', (path) => {
  const text = readTexts(path);
  for (const [, objective] of text.matchAll(/serviceLevelObjectives\/([\w-]+)/g)) {
    expect(paths).toContain(`deploy/monitoring/slos/${objective}.json`);
  }
  for (const [, label] of text.matchAll(/\$\{log\.extracted_label\.(\w+)\}/g)) {
    expect(JSON.stringify(readJson(path))).toContain(`"${label}":"EXTRACT(`);
  }
  const [, section = ''] = /What to do: docs\/runbook\.md, section "(.+)"\.$/m.exec(text) ?? [];
  expect(readFileSync('docs/runbook.md', 'utf8')).toContain(`\n## ${section}\n`);
});

interface UptimeCheck {
  httpCheck: {
    requestMethod: string;
    path: string;
    body?: string;
    acceptedResponseStatusCodes: { statusValue: number }[];
  };
  contentMatchers: { content: string }[];
}

describe('the uptime check', () => {
  const check = async (name: OperationName): Promise<boolean> => {
    const { httpCheck, contentMatchers } = readJson(`deploy/monitoring/uptime/${name}.json`) as UptimeCheck;
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

  test.each(operationNames)('of %s passes, and fails if no API key is configured', async (name) => {
    expect(await check(name)).toBe(true);
    service.setConfig({ API_KEY: '' });
    expect(await check(name)).toBe(false);
  });
});
