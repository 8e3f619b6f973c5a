import { formatLogEntry, installLogFormat } from '../../server/log-format';

const time = new Date(2026, 10, 21, 9, 5, 7, 42);
const entry = { severity: 'NOTICE', message: 'getTeams answered 401', status: 401, reason: 'no API key', count: null };

test('a NOTICE line has the time of day, the severity, the message and all other fields, and an INFO line only the first three', () => {
  expect(formatLogEntry(entry, time)).toBe(
    "09:05:07 NOTICE  getTeams answered 401 { status: 401, reason: 'no API key', count: null }",
  );
  expect(formatLogEntry({ ...entry, severity: 'INFO' }, time)).toBe('09:05:07 INFO    getTeams answered 401');
});

test('the stack of a log entry follows on its own lines', () => {
  expect(formatLogEntry({ ...entry, stack: '    at a\n    at b' }, time)).toMatch(/}\n {4}at a\n {4}at b$/);
});

test('control and invisible characters of a log entry are printed as escapes, except line feeds', () => {
  const hostile = {
    severity: 'NOTICE',
    message: 'a\x1b[2Jb\x07\rc',
    reason: 'd \x9b2J e\u202e',
    stack: '\x1b[31m\u3164',
  };
  expect(formatLogEntry(hostile, time)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u3164]/);
});

test('the console formats only log entries, and leaves out the end of a sweep that resumed and deferred nothing', () => {
  const info = jest.spyOn(console, 'info').mockReturnValue();
  installLogFormat();
  const idle = { severity: 'INFO', event: 'sweep_ended', resumed: 0, deferred: 0 };
  for (const text of ['plain text', '{not json', '{"message":"no severity"}', JSON.stringify(idle)]) console.info(text);
  for (const result of ['resumed', 'deferred']) console.info(JSON.stringify({ ...idle, message: result, [result]: 1 }));
  expect(info.mock.calls.map(([line]) => String(line))).toEqual([
    'plain text',
    '{not json',
    '{"message":"no severity"}',
    expect.stringMatching(/ INFO {4}resumed$/),
    expect.stringMatching(/ INFO {4}deferred$/),
  ]);
});
