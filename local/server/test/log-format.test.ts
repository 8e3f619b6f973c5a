import { stripVTControlCharacters } from 'node:util';
import { formatLogEntry, parseLogEntry } from '../log-format';

const time = new Date(2026, 10, 21, 9, 5, 7, 42);
const getTime = () => time;
const entry = {
  severity: 'NOTICE',
  message: 'getTeams answered 401',
  event: 'request',
  status: 401,
  reason: 'no API key in the request',
  count: null,
};

const formatForTerminal = (fields: object) =>
  stripVTControlCharacters(formatLogEntry({ ...entry, ...fields }, { getColumns: () => 80, getTime }));

test('a piped line is JSON with the time in front and every field unchanged', () => {
  const line = formatLogEntry(entry, { getColumns: () => undefined, getTime });
  expect(JSON.parse(line)).toEqual({ time: time.toISOString(), ...entry });
  expect(line.startsWith('{"time":')).toBe(true);
});

test('a line on a terminal has the time of day, the severity, the message and the fields that have a value', () => {
  expect(formatForTerminal({})).toBe(
    '09:05:07.042 NOTICE  getTeams answered 401 event=request status=401 reason="no API key in the request"',
  );
});

test('a routine line tells of its fields what fits the terminal', () => {
  const answered = {
    severity: 'INFO',
    message: 'addPriceLists answered 200',
    reason: undefined,
    event: 'request',
    request_id: '938b3b2c-9678-495b-9a4c-734a3254164b',
    method: 'POST',
    duration_ms: 1_071,
    firestore_calls: 10,
    count: 364_000,
    replayed: false,
  };
  const line = formatForTerminal(answered);
  expect(line).toBe('09:05:07.042 INFO    addPriceLists answered 200 duration_ms=1071 count=364000');
  const wide = stripVTControlCharacters(formatLogEntry(answered, { getColumns: () => 130, getTime }));
  expect(wide).toBe(`${line} request_id=938b3b2c-9678-495b-9a4c-734a3254164b`);
});

test('a stack follows on its own lines', () => {
  expect(formatForTerminal({ stack: '    at a\n    at b' })).toMatch(/request"\n {4}at a\n {4}at b$/);
});

test('control characters of a message or a field do not reach the terminal', () => {
  const hostile = { severity: 'NOTICE', message: 'a\x1b[2Jb\x07\rc', reason: 'd \x9b2J e' };
  const line = formatLogEntry(hostile, { getColumns: () => 80, getTime });

  expect(stripVTControlCharacters(line)).not.toMatch(/[\x00-\x1f]/);
  expect(line).not.toContain('\x1b[2J');
  expect(line).not.toContain('\x9b');
});

test.each(['plain text', '{not json', '[1]', '{"message":"no severity"}', 7, undefined])(
  '%p is no log line',
  (text) => {
    expect(parseLogEntry(text)).toBeUndefined();
  },
);

test('a structured line is recognised', () => {
  expect(parseLogEntry(JSON.stringify(entry))).toEqual(entry);
});
