import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { systemClock, type Clock } from '../../../../src/lib/clock';
import { StoppedError } from '../../../../src/lib/errors';
import { logInstanceStopped, logInstanceStopping } from '../../../../src/lib/logging';
import { Shutdown } from '../../../../src/lib/http/shutdown';
import { ManualClock } from '../../../support/clock';

/** The steps of a stop, in virtual time: each sleep is over at once unless the last response is sent. */

jest.mock('../../../../src/lib/logging');

interface Step {
  request: string;
  step: 'abort' | 'giveUp';
  atMs: number;
}

function createInstance() {
  const clock = new ManualClock(0);
  const shutdown = new Shutdown();
  const steps: Step[] = [];
  /** Adds a request whose response is sent at a step, or never. */
  const add = (request: string, onShutdown: 'finish' | 'abort', sentAt?: Step['step']) => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    shutdown.addResponse(createServer(), response);
    const watch = ({ signal }: AbortController, step: Step['step']) => {
      const record = () => {
        expect(signal.reason).toBeInstanceOf(StoppedError);
        steps.push({ request, step, atMs: clock.now() });
        if (step === sentAt) response.emit('close');
      };
      if (signal.aborted) record();
      else signal.addEventListener('abort', record);
    };
    watch(onShutdown === 'abort' ? shutdown.abortWrites : shutdown.abortReads, 'abort');
    watch(shutdown.stopWaiting, 'giveUp');
    return response;
  };
  return { clock, shutdown, steps, add };
}

test('aborts a creation at once, and exits when its response is sent', async () => {
  const { clock, shutdown, steps, add } = createInstance();
  add('creation', 'abort', 'abort');
  await shutdown.stop(clock);
  expect(steps).toEqual([{ request: 'creation', step: 'abort', atMs: 0 }]);
  expect(clock.now()).toBe(0);
});

test('aborts a read after 7 s, gives up every request after 8 s, and ends after 9 s', async () => {
  const { clock, shutdown, steps, add } = createInstance();
  add('read', 'finish', 'abort');
  add('hanging creation', 'abort', 'giveUp');
  add('hanging read', 'finish');
  await shutdown.stop(clock);
  expect(steps).toEqual([
    { request: 'hanging creation', step: 'abort', atMs: 0 },
    { request: 'read', step: 'abort', atMs: 7_000 },
    { request: 'hanging read', step: 'abort', atMs: 7_000 },
    { request: 'read', step: 'giveUp', atMs: 8_000 },
    { request: 'hanging creation', step: 'giveUp', atMs: 8_000 },
    { request: 'hanging read', step: 'giveUp', atMs: 8_000 },
  ]);
  expect(clock.now()).toBe(9_000);
  expect(logInstanceStopping).toHaveBeenLastCalledWith(3);
  expect(logInstanceStopped).toHaveBeenLastCalledWith(1, 9_000);
});

test('ends in time where every timer is late', async () => {
  const { clock, shutdown, add } = createInstance();
  const sleep = clock.sleep.bind(clock);
  jest.spyOn(clock, 'sleep').mockImplementation((ms, signal) => sleep(ms + 400, signal));
  add('hanging read', 'finish');
  await shutdown.stop(clock);
  expect(clock.now()).toBe(9_400);
});

test('ends as soon as the last response is sent', async () => {
  const { clock, shutdown, steps, add } = createInstance();
  const response = add('read', 'finish');
  const waiting: Clock = {
    createTimeout: systemClock.createTimeout,
    now: () => clock.now(),
    sleep: (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  };
  const stopped = shutdown.stop(waiting);
  response.emit('close');
  await stopped;
  expect(steps).toEqual([]);
});

test('closes the connection of each response, and aborts and gives up a creation that comes after it all', async () => {
  const { clock, shutdown, steps, add } = createInstance();
  const before = add('read', 'finish');
  await shutdown.stop(clock);
  steps.length = 0;
  const after = add('creation', 'abort');
  expect([before.getHeader('connection'), after.getHeader('connection')]).toEqual(['close', 'close']);
  expect(steps).toEqual([
    { request: 'creation', step: 'abort', atMs: 9_000 },
    { request: 'creation', step: 'giveUp', atMs: 9_000 },
  ]);
});
