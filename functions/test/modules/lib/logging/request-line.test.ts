import { Firestore } from '@google-cloud/firestore';
import { write } from 'firebase-functions/logger';
import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as z from 'zod';
import { ApiError, LoggableError, toApiError } from '../../../../src/lib/errors';
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
const MESSAGE = `5 NOT_FOUND: no entity: projects/p/databases/(default)/documents/lists/${SECRET}`;

const fromGrpc = (message: string) => Object.assign(new Error(message), { code: 5 });

const withStack = (stack: string | undefined) => Object.assign(fromGrpc(MESSAGE), { stack });

const FRAMES = /^Error: 5 NOT_FOUND: no entity: projects\/p\/databases\/\(default\)\/documents\/…(\n {4}at .+)+$/;

test.each<[string, Error]>([
  ['an error', fromGrpc(MESSAGE)],
  [
    'an error whose message looks like frames',
    fromGrpc(`${MESSAGE}\n    at ${SECRET} (file.js:1:1)\n    at ${SECRET}`),
  ],
  [
    'an error with a cause in its stack',
    withStack(`Error: ${MESSAGE}\n    at call (file.js:1:1)\nCaused by: Error: ${MESSAGE}`),
  ],
  ['an error whose stack has no frames', withStack(`Error: ${MESSAGE}`)],
  ['an error whose stack has a different message', withStack(`Error: ${SECRET}\n    at ${SECRET} (file.js:1:1)`)],
  ['an error without a stack', withStack(undefined)],
])('the report of %s has frames, and no text but the redacted message', (_, error) => {
  const line = getLine(error);
  expect(line.stack_trace).toMatch(FRAMES);
  expect(JSON.stringify(line)).not.toContain(SECRET);
});

const decompress = promisify(gunzip);

/** Each row begins with the source of an error that can quote a value. */
test.each<[string, string, () => unknown]>([
  ['V8', 'unexpected TypeError', () => (undefined as never)[SECRET]],
  ['V8, as JSON', 'unexpected SyntaxError', () => JSON.parse(SECRET) as unknown],
  ['node:zlib', 'unexpected Error (Z_DATA_ERROR)', () => decompress(Buffer.from(SECRET))],
  ['node:fs', 'unexpected Error (ENOENT)', () => readFileSync(SECRET)],
  ['node:net', 'unexpected Error (ERR_INVALID_ADDRESS)', () => new BlockList().addAddress(SECRET)],
  ['zod', 'unexpected ZodError', () => z.enum([SECRET]).parse('')],
  ['the Firestore SDK', 'unexpected Error', () => new Firestore({ projectId: 'p' }).doc(`${SECRET}/a//b`)],
  ['a class without a plain name', 'unexpected Error', () => throwError({ name: `${SECRET} error` })],
  ['a class with a secret code', 'unexpected Error', () => throwError({ code: `${SECRET} code` })],
  ['the DOM, whose codes look like those of gRPC', 'unexpected NotFoundError (8)', () => throwError(DOM_ERROR)],
  [
    'a class whose message begins with another code',
    'unexpected Error (3)',
    () => throwError({ code: 3, message: `5 NO: ${SECRET}` }),
  ],
  ['Firestore', '3 INVALID_ARGUMENT: value …', () => throwError({ code: 3, message: INVALID })],
  ['no library', 'not an error', () => throwValue(SECRET)],
])('an error of %s leaves in the log only frames and this text: %s', async (_, reason, throwIt) => {
  const line = getLine(await catchError(throwIt));
  expect(line.reason).toBe(reason);
  expect(line.stack_trace).toMatch(/\n {4}at /);
  expect(JSON.stringify(line)).not.toContain(SECRET);
});

const INVALID = `3 INVALID_ARGUMENT: value '${SECRET}' is bad`;

const DOM_ERROR = new DOMException(`no ${SECRET}`, 'NotFoundError');

function throwError(error: object): never {
  throw error instanceof Error ? error : Object.assign(new Error(SECRET), error);
}

function throwValue(value: string): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- JavaScript can throw any value.
  throw value;
}

async function catchError(throwIt: () => unknown): Promise<unknown> {
  try {
    await throwIt();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('the report of an error has the frames of its cause, or its own if it has no cause', () => {
  function throwHere() {
    throw new LoggableError('x\n    at first (file.js:1:1)');
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
