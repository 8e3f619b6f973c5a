import { write } from 'firebase-functions/logger';
import { ApiError, toApiError } from '../../../../src/lib/errors';
import { logRequest } from '../../../../src/lib/logging/request-line';

/** Tests that an error report has stack frames, and no text that could be confidential. */

jest.mock('firebase-functions/logger');

const request = { operation: 'getTeams', request_id: 'id', method: 'GET', status: 500, client_gone: undefined };
const numbers = {
  duration_ms: 1,
  firestore_calls: 1,
  retries: 0,
  phases_ms: {},
  count: undefined,
  replayed: undefined,
};

function getLine(error: unknown): { reason: string; stack_trace: string } {
  logRequest({ ...request, ...numbers, error: toApiError(error) });
  return jest.mocked(write).mock.lastCall?.[0] as never;
}

const SECRET = 'planted-secret';
const MESSAGE = `no entity: projects/p/databases/(default)/documents/lists/${SECRET}`;

const withStack = (stack: string | undefined) => Object.assign(new Error(MESSAGE), { stack });

const FRAMES = /^Error: no entity: projects\/p\/databases\/\(default\)\/documents\/…(\n {4}at .+)+$/;

test.each<[string, Error]>([
  ['an error', new Error(MESSAGE)],
  ['a message that looks like frames', new Error(`${MESSAGE}\n    at ${SECRET} (file.js:1:1)\n    at ${SECRET}`)],
  ['a cause within the stack', withStack(`Error: ${MESSAGE}\n    at call (file.js:1:1)\nCaused by: Error: ${MESSAGE}`)],
  ['a stack without frames', withStack(`Error: ${MESSAGE}`)],
  ['a stack with a different message', withStack(`Error: ${SECRET}\n    at ${SECRET} (file.js:1:1)`)],
  ['an error without a stack', withStack(undefined)],
])('the report of %s has frames, and no text but the redacted message', (_, error) => {
  const line = getLine(error);
  expect(line.stack_trace).toMatch(FRAMES);
  expect(JSON.stringify(line)).not.toContain(SECRET);
});

test.each([
  ['V8', new TypeError(`Cannot read properties of undefined (reading '${SECRET}')`), 'unexpected TypeError'],
  ['JSON', new SyntaxError(`${SECRET} is not valid`), 'unexpected SyntaxError'],
  [
    'Firestore',
    Object.assign(new Error(`3 INVALID_ARGUMENT: value '${SECRET}' is bad`), { code: 3 }),
    '3 INVALID_ARGUMENT: value …',
  ],
  ['a library with typographic quotation marks', new Error(`no “${SECRET}”`), 'no …'],
])('a message of %s is cut before a value that it quotes', (_, error, reason) => {
  const line = getLine(error);
  expect(line.reason).toBe(reason);
  expect(line.stack_trace).toMatch(/\n {4}at /);
  expect(JSON.stringify(line)).not.toContain(SECRET);
});

test('the report of an error has the frames of its cause, or its own if it has no cause', () => {
  function throwHere() {
    throw new Error('x\n    at first (file.js:1:1)');
  }
  let cause: unknown;
  try {
    throwHere();
  } catch (error) {
    cause = error;
  }
  const ofCause = /^Error: x at first \(file\.js:1:1\)\n {4}at throwHere /;
  expect(getLine(new ApiError('creation_failed', 'x')).stack_trace).toMatch(/^ApiError: x\n {4}at /);
  expect(getLine(new ApiError('creation_failed', 'the attempt failed', { cause })).stack_trace).toMatch(ofCause);
});
