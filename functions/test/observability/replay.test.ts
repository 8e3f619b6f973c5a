import { readFileSync } from 'node:fs';
import { takeConsoleLines } from '../../../test/support/console';
import { ApiError, toApiError } from '../../src/lib/errors';
import { logRequest, logSweptAttempt } from '../../src/lib/logging';
import { toCreationResult } from '../../src/price-lists/responses';
import { findFiringAlerts, type LogEntry } from './alert-evaluator';
import { parseFilter } from './filter';
import { readMonitoringFiles } from './monitoring-files';
import {
  formatRecordedLog,
  KEPT_FIELDS,
  parseRecordedLog,
  toRecordedLine,
  type RecordedHeader,
  type RecordedLine,
} from './recorded-log';

/**
 * Which alerts fire: the log of a soak, replayed through the filters, objectives and thresholds of docs/monitoring. Minutes
 * of the log are repeated, since the longest window is six hours. docs/testing.md says how to record it again.
 */

const FIXTURE = 'functions/test/observability/fixtures/soak-log.jsonl';
const MAX_FIXTURE_BYTES = 200_000;
const MINUTE_MS = 60_000;

const files = readMonitoringFiles();
const fixture = readFileSync(FIXTURE, 'utf8');
const { header, lines } = parseRecordedLog(fixture);

const toEntry = ({ at, ...jsonPayload }: RecordedLine): LogEntry => ({ at, jsonPayload });

/** One minute of the log, its times from 0. */
const takeMinute = (from: number): LogEntry[] =>
  lines
    .filter(({ at }) => at >= from && at < from + MINUTE_MS)
    .map((line) => toEntry({ ...line, at: line.at - from }))
    .sort((a, b) => a.at - b.at);

const findDisturbance = (kind: RecordedHeader['disturbances'][number]['kind']) => {
  const found = header.disturbances.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`the log has no ${kind}`);
  return found;
};

/** Traffic with nothing wrong, after everything that was done to it. */
const QUIET = takeMinute(findDisturbance('firestore_dead').to + MINUTE_MS);
/** Add price lists is stopped in the middle of a creation, and the sweep resumes it. */
const STOPPED = takeMinute(findDisturbance('service_stopped').from - 100);
/** The last minute of each outage, when the requests that wait for it fail. */
const HANGING = takeMinute(findDisturbance('firestore_hangs').to - MINUTE_MS);
const DEAD = takeMinute(findDisturbance('firestore_dead').to - MINUTE_MS);

interface Stretch {
  minutes: number;
  /** The entries of a minute. */
  of: (minute: number) => readonly LogEntry[];
}

const repeat = (entries: readonly LogEntry[], minutes: number): Stretch => ({ minutes, of: () => entries });

/** Lines up stretches behind one another. */
function createLog(...stretches: Stretch[]): LogEntry[] {
  const log: LogEntry[] = [];
  let start = 0;
  for (const { minutes, of } of stretches) {
    for (let minute = 0; minute < minutes; minute += 1, start += MINUTE_MS)
      log.push(...of(minute).map((entry) => ({ ...entry, at: start + entry.at })));
  }
  return log;
}

const QUIET_HOURS = repeat(QUIET, 6 * 60);

/** Puts entries into the first minute after a quiet hour. */
const findAlertsFor = (...entries: LogEntry[]): string[] =>
  findFiringAlerts(files, createLog(repeat(QUIET, 60), repeat([...QUIET, ...entries], 1), repeat(QUIET, 15)));

/** The line that the service itself writes. */
function captureLine(log: () => void): LogEntry {
  const captured: LogEntry[] = [];
  takeConsoleLines(([text]) => {
    const { severity, ...jsonPayload } = JSON.parse(String(text)) as { severity: string };
    captured.push({ at: 0, severity, jsonPayload });
    return true;
  });
  log();
  takeConsoleLines(() => false);
  const [line] = captured;
  if (line === undefined) throw new Error('nothing was logged');
  return line;
}

const captureRequest = (operation: string, error: ApiError, status: number): LogEntry =>
  captureLine(() =>
    logRequest({
      operation,
      request_id: 'request-1',
      method: 'POST',
      status,
      client_gone: undefined,
      duration_ms: 20,
      firestore_calls: 1,
      retries: 0,
      phases_ms: {},
      count: undefined,
      replayed: undefined,
      error,
    }),
  );

/** The line of a request that met a key which requires review. @param retryAfterMs null: an operator is needed */
function captureBlocked(retryAfterMs: number | null): LogEntry {
  try {
    toCreationResult({ kind: 'blocked', by: 'review', retryAfterMs });
  } catch (error) {
    return captureRequest('addPriceLists', toApiError(error), 409);
  }
  throw new Error('a blocked key has a result');
}

const isRead = ({ jsonPayload }: LogEntry) =>
  jsonPayload?.['event'] === 'request' && jsonPayload['operation'] !== 'addPriceLists';
const isGoodRead = (entry: LogEntry) => isRead(entry) && entry.jsonPayload?.['status'] === 200;
const isSweep = ({ jsonPayload }: LogEntry) => String(jsonPayload?.['event']).startsWith('sweep_');
const change = (entry: LogEntry, fields: object): LogEntry => ({
  ...entry,
  jsonPayload: { ...entry.jsonPayload, ...fields },
});
const FAILED_READ = { status: 500, error_code: 'internal_error' };

describe('the recorded log', () => {
  test('keeps the events of the service, and of them the fields that the files read', () => {
    const line = { event: 'request', status: 409, request_id: 'request-1', reason: 'secret' };
    expect(toRecordedLine(JSON.stringify(line), 1_000.4)).toEqual({ at: 1_000, event: 'request', status: 409 });
    for (const other of ['Serving function...', '{"memory":1}']) expect(toRecordedLine(other, 0)).toBeUndefined();
    expect(parseRecordedLog(formatRecordedLog({ header, lines }))).toEqual({ header, lines });
  });

  test('is small, and has nothing but the fields that the files read', () => {
    expect(Buffer.byteLength(fixture)).toBeLessThan(MAX_FIXTURE_BYTES);
    expect(Object.keys(header)).toEqual(['seed', 'trafficMs', 'disturbances']);
    const allowed = ['at', ...KEPT_FIELDS];
    for (const line of lines) for (const field of Object.keys(line)) expect(allowed).toContain(field);
    for (const { event, operation, error_code } of lines)
      for (const value of [event, operation, error_code]) expect(String(value ?? '')).toMatch(/^[a-zA-Z_]*$/);
  });

  test('has every field of the service that decides about an alert', () => {
    const sources = [...files.metrics, ...files.policies]
      .map(({ text }) => text)
      .filter((text) => !text.includes('audit_violation'))
      .join();
    const read = new Set([...sources.matchAll(/jsonPayload\.(\w+)/g)].map(([, field = '']) => field));
    // Only shown in a notification.
    for (const shown of ['document_id', 'request_id']) read.delete(shown);
    expect([...KEPT_FIELDS]).toEqual(expect.arrayContaining([...read]));
  });

  test('has what each stretch is for', () => {
    const count = (entries: readonly LogEntry[], field: string, value: unknown) =>
      entries.filter(({ jsonPayload }) => jsonPayload?.[field] === value).length;
    expect(QUIET.filter(isGoodRead).length).toBeGreaterThan(20);
    expect(count(QUIET, 'event', 'price_list_completed')).toBeGreaterThan(5);
    expect(count(QUIET, 'event', 'sweep_ended')).toBe(1);
    expect(count(QUIET, 'status', 500)).toBe(0);
    expect(count(STOPPED, 'event', 'price_list_failed')).toBeGreaterThan(0);
    expect(count(STOPPED, 'event', 'price_list_resumed')).toBeGreaterThan(0);
    for (const outage of [HANGING, DEAD]) {
      expect(outage.filter(isGoodRead)).toEqual([]);
      expect(count(outage, 'status', 500)).toBeGreaterThan(10);
      expect(outage.filter(isSweep).length).toBeGreaterThan(0);
    }
  });
});

describe('no alert fires', () => {
  test('in quiet hours', () => {
    expect(findFiringAlerts(files, createLog(QUIET_HOURS, QUIET_HOURS))).toEqual([]);
  });

  test('when a deployment stops creations, which the sweep resumes', () => {
    expect(findFiringAlerts(files, createLog(QUIET_HOURS, repeat(STOPPED, 3), repeat(QUIET, 15)))).toEqual([]);
  });

  test('for a key that the sweep resumes', () => {
    expect(findAlertsFor(captureBlocked(60_000))).toEqual([]);
  });

  test('for clients that take a minute to read their responses', () => {
    const slowClients = QUIET.map((entry) => (isRead(entry) ? change(entry, { duration_ms: 60_000 }) : entry));
    expect(findFiringAlerts(files, createLog(repeat(slowClients, 6 * 60)))).toEqual([]);
  });

  test('for five failed reads, or five lost submissions, at night', () => {
    const night = QUIET.filter((entry) => isSweep(entry));
    const [read] = QUIET.filter(isGoodRead);
    if (read === undefined) throw new Error('there is no read');
    const fiveTimes = (entry: LogEntry): Stretch => ({ minutes: 5, of: () => [...night, entry] });
    const failures = [change(read, FAILED_READ), change(read, { ...FAILED_READ, operation: 'addPriceLists' })];
    for (const failure of failures)
      expect(findFiringAlerts(files, createLog(repeat(night, 60), fiveTimes(failure), repeat(night, 60)))).toEqual([]);
  });

  test('when sweeps miss four minutes', () => {
    const unswept = QUIET.filter((entry) => !isSweep(entry));
    expect(findFiringAlerts(files, createLog(repeat(QUIET, 60), repeat(unswept, 4), repeat(QUIET, 15)))).toEqual([]);
  });
});

describe('exactly these alerts fire', () => {
  const findAlertsOfOutage = (outage: readonly LogEntry[], minutes: number) =>
    findFiringAlerts(files, createLog(QUIET_HOURS, repeat(outage, minutes), repeat(QUIET, 60)));

  test('Firestore is dead for 4 minutes: reads burn fast', () => {
    expect(findAlertsOfOutage(DEAD, 4)).toEqual(['read-availability-fast-burn']);
  });

  test('Firestore is dead for half an hour: creations burn fast, too, and reads also by the day', () => {
    expect(findAlertsOfOutage(DEAD, 30)).toEqual([
      'creation-success-fast-burn',
      'read-availability-fast-burn',
      'read-availability-slow-burn',
    ]);
  });

  test('Firestore hangs for half an hour: the same, and reads are slow', () => {
    expect(findAlertsOfOutage(HANGING, 30)).toEqual([
      'creation-success-fast-burn',
      'read-availability-fast-burn',
      'read-availability-slow-burn',
      'read-latency-fast-burn',
      'slow-reads',
    ]);
  });

  test('one read in a hundred fails for hours: reads burn slowly', () => {
    const failing: Stretch = {
      minutes: 6 * 60,
      of: (minute) => {
        const [first, ...others] = QUIET.filter(isGoodRead);
        return first === undefined || minute % 2 === 0
          ? QUIET
          : [change(first, FAILED_READ), ...others, ...QUIET.filter((entry) => !isGoodRead(entry))];
      },
    };
    expect(findFiringAlerts(files, createLog(QUIET_HOURS, failing))).toEqual(['read-availability-slow-burn']);
  });

  test('one read in ten waits 6 s for Firestore, for hours: latency burns slowly, and the 95th percentile shows', () => {
    const reads = QUIET.filter(isGoodRead);
    const waiting = QUIET.map((entry) =>
      reads.indexOf(entry) % 10 === 9 ? change(entry, { firestore_ms: 6_000 }) : entry,
    );
    expect(findFiringAlerts(files, createLog(repeat(waiting, 6 * 60)))).toEqual([
      'read-latency-slow-burn',
      'slow-reads',
    ]);
  });

  test('one operation that is rarely called waits: only the alert that looks at each', () => {
    const [read] = QUIET.filter(isGoodRead);
    if (read === undefined) throw new Error('there is no read');
    const rare = change(read, { operation: 'supplyOrdersInvoices', firestore_ms: 20_000 });
    const others = QUIET.filter(({ jsonPayload }) => jsonPayload?.['operation'] !== 'supplyOrdersInvoices');
    const waiting: Stretch = { minutes: 30, of: (minute) => (minute % 4 === 0 ? [...others, rare] : others) };
    expect(findFiringAlerts(files, createLog(QUIET_HOURS, waiting))).toEqual(['slow-reads']);
  });

  test('price lists are ready only after 11 minutes: creations burn fast and slowly', () => {
    const late = QUIET.map((entry) =>
      entry.jsonPayload?.['event'] === 'price_list_completed' ? change(entry, { since_claim_ms: 660_000 }) : entry,
    );
    expect(findFiringAlerts(files, createLog(QUIET_HOURS, repeat(late, 30)))).toEqual([
      'creation-success-fast-burn',
      'creation-success-slow-burn',
    ]);
  });

  test('a request meets a key that needs an operator', () => {
    expect(findAlertsFor(captureBlocked(null))).toEqual(['price-list-blocked']);
  });

  test('an attempt fails for a permanent cause', () => {
    const [failed] = STOPPED.filter(({ jsonPayload }) => jsonPayload?.['event'] === 'price_list_failed');
    if (failed === undefined) throw new Error('no attempt failed');
    expect(findAlertsFor(change(failed, { needs_operator: true }))).toEqual(['price-list-requires-review']);
  });

  test('the sweep leaves a key to an operator', () => {
    const LEFT = { document_id: 'document-1', trace_id: null, reason: 'the payload is not complete' };
    const left = captureLine(() => logSweptAttempt('left', LEFT, 90_000));
    expect(findAlertsFor(left)).toEqual(['price-list-left']);
  });

  test('the audit, as a job, finds a violation', () => {
    const violation = { event: 'audit_violation', rule: 'entry_count', boq_list_id: 'key-1', path: 'price_lists/1' };
    const line = { at: 0, severity: 'ERROR', jsonPayload: violation };
    expect(findAlertsFor({ ...line, resourceType: 'global' })).toEqual(['audit-violation']);
  });

  test('no sweep ends, and none says that it works, for 5 minutes', () => {
    const unswept = QUIET.filter((entry) => !isSweep(entry));
    expect(findFiringAlerts(files, createLog(repeat(QUIET, 60), repeat(unswept, 5), repeat(QUIET, 15)))).toEqual([
      'sweep-stopped',
    ]);
  });

  test('a request finds no API key configured', () => {
    const error = new ApiError('api_key_not_configured', 'the API key setting is blank');
    expect(findAlertsFor(captureRequest('getTeams', error, 500))).toEqual(['key-not-configured']);
  });

  test('an instance is killed', () => {
    const kill = { at: 0, severity: 'ERROR', textPayload: 'Memory limit of 512 MiB exceeded with 530 MiB used.' };
    expect(findAlertsFor(kill)).toEqual(['killed']);
    expect(findAlertsFor({ ...kill, severity: 'INFO' })).toEqual([]);
  });

  test('51 requests in 5 minutes have a wrong API key, not 50', () => {
    const rejected = captureRequest('getTeams', new ApiError('invalid_api_key', 'no such key'), 401);
    const times = (count: number): Stretch =>
      repeat(
        Array.from({ length: count }, () => rejected),
        1,
      );
    const sweeps = repeat(QUIET.filter(isSweep), 10);
    const findAlerts = (count: number) => findFiringAlerts(files, createLog(sweeps, times(count), sweeps));
    expect([findAlerts(50), findAlerts(51)]).toEqual([[], ['refused-keys']]);
  });
});

describe('the reader of filters', () => {
  const entry: Record<string, unknown> = { a: 'x', n: 5, yes: true };
  const matches = (text: string) => parseFilter(text)((path) => entry[path]);

  test.each([
    ['a="x" AND n>=5', true],
    ['a="y" OR n<5', false],
    ['a="y" AND n=5 OR yes=true', true],
    ['a="y" AND (n=5 OR yes=true)', false],
    ['NOT a="y"', true],
    ['a=~"^x$"', true],
    ['a:"X"', true],
    ['missing!="x"', false],
    ['a=monitoring.regex.full_match("x|y")', true],
    ['a=monitoring.regex.full_match("")', false],
  ])('%s is %s', (text, expected) => {
    expect(matches(text)).toBe(expected);
  });

  test.each(['a=', 'a="x" b="y"', '(a="x"', 'a~"x"', 'a=f("x")', '='])('%s is an error', (text) => {
    expect(() => parseFilter(text)).toThrow(text);
  });
});
