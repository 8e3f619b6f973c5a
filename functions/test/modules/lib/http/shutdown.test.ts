import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { systemClock, type Clock } from '../../../../src/lib/clock';
import { StoppedError } from '../../../../src/lib/errors';
import { logInstanceStopped, logInstanceStopping } from '../../../../src/lib/logging/instances';
import { isAnswered } from '../../../../src/lib/http/client-writer';
import { Shutdown } from '../../../../src/lib/http/shutdown';

/** The steps of a stop, in virtual time. */

jest.mock('../../../../src/lib/logging/instances');
jest.mock('../../../../src/lib/http/client-writer');

const STEPS = ['refuseWrites', 'abortWrites', 'stopWaiting'] as const;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Returns a clock on Jest's timers. @param lateMs how late each timer is */
const createClock = (lateMs: number): Clock => ({
  ...systemClock,
  elapsedMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, ms + lateMs);
      signal.addEventListener('abort', () => reject(new Error('aborted')));
      if (signal.aborted) reject(new Error('aborted'));
    }),
});

function createInstance(lateMs = 0) {
  const shutdown = new Shutdown();
  const startedAt = Date.now();
  /** The steps that have begun, each with its milliseconds after the start. */
  const steps: [string, number][] = [];
  for (const step of STEPS) {
    const { signal } = shutdown[step];
    signal.addEventListener('abort', () => {
      expect(signal.reason).toBeInstanceOf(StoppedError);
      steps.push([step, Date.now() - startedAt]);
    });
  }
  const server = createServer();
  const addResponse = () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    shutdown.addResponse(server, response);
    return response;
  };
  const stop = async () => {
    await shutdown.stop(createClock(lateMs));
    steps.push(['end', Date.now() - startedAt]);
  };
  return { shutdown, server, steps, addResponse, stop };
}

test('refuses writes at once, aborts them after 5 s, stops waiting for handlers after 8 s, and ends after 9 s', async () => {
  const { steps, addResponse, stop } = createInstance();
  addResponse();
  addResponse();
  const stopped = stop();
  await jest.advanceTimersByTimeAsync(20_000);
  await stopped;
  expect(steps).toEqual([
    ['refuseWrites', 0],
    ['abortWrites', 5_000],
    ['stopWaiting', 8_000],
    ['end', 9_000],
  ]);
  expect(logInstanceStopping).toHaveBeenLastCalledWith(2);
  expect(logInstanceStopped).toHaveBeenLastCalledWith(2, 9_000);
});

test('leaves time to fail an attempt', () => {
  const { shutdown, stop } = createInstance();
  void stop();
  expect(shutdown.refuseWrites.signal.reason).toMatchObject({ reserveMs: 2_000 });
});

test('ends in time although every timer is late', async () => {
  const { steps, addResponse, stop } = createInstance(400);
  addResponse();
  const stopped = stop();
  await jest.advanceTimersByTimeAsync(20_000);
  await stopped;
  expect(steps.at(-1)).toEqual(['end', 9_400]);
});

test('ends as soon as the last response is sent, and at once without one', async () => {
  const { steps, addResponse, stop } = createInstance();
  const response = addResponse();
  const stopped = stop();
  await jest.advanceTimersByTimeAsync(6_000);
  response.emit('close');
  await stopped;
  expect(steps.slice(1)).toEqual([
    ['abortWrites', 5_000],
    ['end', 6_000],
  ]);
  const idle = createInstance();
  await idle.stop();
  expect(idle.steps.at(-1)).toEqual(['end', 0]);
});

test('closes the server of each response at once', async () => {
  const { server, addResponse, stop } = createInstance();
  const close = jest.spyOn(server, 'close').mockReturnValue(server);
  addResponse().emit('close');
  await stop();
  expect(close).toHaveBeenCalledTimes(1);
});

test.each([
  ['ends', Promise.resolve()],
  ['fails', Promise.reject(new Error('failed'))],
])('waits for a handler whose client has left, until it %s', async (_, result) => {
  const { shutdown, steps, addResponse, stop } = createInstance();
  const response = addResponse();
  const { promise, resolve } = Promise.withResolvers();
  const handled = Promise.allSettled([shutdown.waitFor(() => promise.then(() => result))]);
  response.emit('close');
  const stopped = stop();
  await jest.advanceTimersByTimeAsync(6_000);
  resolve(undefined);
  await Promise.all([handled, stopped]);
  expect(steps.slice(1)).toEqual([
    ['abortWrites', 5_000],
    ['end', 6_000],
  ]);
});

test('waits for a connection whose body still arrives after its response, and counts it as answered', async () => {
  const { steps, addResponse, stop } = createInstance();
  const response = addResponse();
  jest.mocked(isAnswered).mockReturnValue(true);
  const stopped = stop();
  expect(logInstanceStopping).toHaveBeenLastCalledWith(0);
  await jest.advanceTimersByTimeAsync(3_000);
  response.emit('close');
  await stopped;
  jest.mocked(isAnswered).mockReturnValue(false);
  expect(steps.at(-1)).toEqual(['end', 3_000]);
  expect(logInstanceStopped).toHaveBeenLastCalledWith(0, 3_000);
});

test('each response, also a later one, announces that its connection closes', async () => {
  const { addResponse, stop } = createInstance();
  const before = addResponse();
  const stopped = stop();
  const after = addResponse();
  expect([before.getHeader('connection'), after.getHeader('connection')]).toEqual(['close', 'close']);
  await jest.advanceTimersByTimeAsync(9_000);
  await stopped;
});
