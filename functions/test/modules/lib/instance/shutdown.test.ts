import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { StoppedError } from '../../../../src/lib/errors';
import { logInstanceStopping } from '../../../../src/lib/logging/instances';
import { Shutdown } from '../../../../src/lib/instance/shutdown';

/** Tests the steps of a stop with fake timers. */

jest.mock('../../../../src/lib/logging/instances');

const STEPS = ['refuseWrites', 'abortWrites', 'stopWaiting'] as const;

beforeEach(() => jest.useFakeTimers().advanceTimersByTime(1_000));
afterEach(() => jest.useRealTimers());

function createInstance() {
  const shutdown = new Shutdown();
  const startedAt = Date.now();
  /** The steps that have begun, each with its milliseconds after the start. */
  const steps: [string, number][] = [];
  for (const step of STEPS) {
    const { signal } = shutdown[step];
    signal.addEventListener('abort', () => {
      expect(signal.reason).toMatchObject({ constructor: StoppedError, reserveMs: 2_000 });
      steps.push([step, Date.now() - startedAt]);
    });
  }
  const server = createServer();
  const addResponse = () => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    shutdown.addResponse(response, server);
    return response;
  };
  const stop = async () => {
    await shutdown.stop();
    steps.push(['end', Date.now() - startedAt]);
  };
  return { shutdown, server, steps, addResponse, stop };
}

test('a stop refuses new writes at once, aborts those in progress after 5 s, ends reads after 8 s, and ends after at most 9 s', async () => {
  const { shutdown, steps, addResponse, stop } = createInstance();
  addResponse();
  void shutdown.waitFor(() => new Promise(() => undefined));
  const stopped = stop();
  await jest.advanceTimersByTimeAsync(20_000);
  await stopped;
  expect(steps).toEqual([
    ['refuseWrites', 0],
    ['abortWrites', 5_000],
    ['stopWaiting', 8_000],
    ['end', 9_000],
  ]);
  expect(logInstanceStopping).toHaveBeenLastCalledWith(1);
  expect(shutdown.runningHandlers).toBe(1);
});

test('without a running handler, a stop ends as soon as the last response is closed, and at once if none is open', async () => {
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

test('a stop closes the server of earlier responses at once', async () => {
  const { server, addResponse, stop } = createInstance();
  const close = jest.spyOn(server, 'close').mockReturnValue(server);
  addResponse().emit('close');
  await stop();
  expect(close).toHaveBeenCalledTimes(1);
});

test.each([
  ['ends', Promise.resolve()],
  ['fails', Promise.reject(new Error('failed'))],
])('a stop waits for a handler whose client has left, until the handler %s', async (_, result) => {
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

test('a stop waits for a connection on which a body still arrives after the response, and logs only the number of handlers', async () => {
  const { shutdown, steps, addResponse, stop } = createInstance();
  const response = addResponse();
  void shutdown.waitFor(() => new Promise((resolve) => setTimeout(resolve, 1_000)));
  const stopped = stop();
  expect(logInstanceStopping).toHaveBeenLastCalledWith(1);
  await jest.advanceTimersByTimeAsync(3_000);
  response.emit('close');
  await stopped;
  expect(steps.at(-1)).toEqual(['end', 3_000]);
  expect(shutdown.runningHandlers).toBe(0);
});

test('each response whose head is sent during a stop announces that its connection closes', async () => {
  const { addResponse, stop } = createInstance();
  const before = addResponse();
  const stopped = stop();
  const after = addResponse();
  expect([before.getHeader('connection'), after.getHeader('connection')]).toEqual(['close', 'close']);
  await jest.advanceTimersByTimeAsync(9_000);
  await stopped;
});
