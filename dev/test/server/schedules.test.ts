import { startFunctionsServer, type DeployableFunction } from '../../server/functions-server';
import { startSchedules } from '../../server/schedules';

/** Starts a server with one scheduled function. The clock is 30 s before a full minute. */
async function start() {
  jest.useFakeTimers({ now: 30_000, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const run = jest.fn();
  const sweep: unknown = { __endpoint: { region: ['us-central1'], scheduleTrigger: { schedule: '* * * * *' } }, run };
  const functions = { sweep: sweep as DeployableFunction };
  return { run, server: await startFunctionsServer({ port: 0, project: 'demo-test', functions }) };
}
afterEach(() => jest.useRealTimers());

test('the server calls a scheduled function at each full minute until the server closes', async () => {
  const { run, server } = await start();
  jest.advanceTimersByTime(90_000);
  expect(run.mock.calls).toEqual([
    [{ scheduleTime: '1970-01-01T00:01:00.000Z' }],
    [{ scheduleTime: '1970-01-01T00:02:00.000Z' }],
  ]);
  const closed = server.close(0);
  jest.advanceTimersByTime(60_000);
  await closed;
  expect(run).toHaveBeenCalledTimes(2);
});

test('the server logs the error of a scheduled function and calls it again a minute later', async () => {
  const { run, server } = await start();
  const log = jest.spyOn(console, 'error').mockReturnValue();
  const thrown = new Error('thrown');
  const rejected = new Error('rejected');
  run.mockImplementationOnce(() => {
    throw thrown;
  });
  run.mockRejectedValueOnce(rejected);
  await jest.advanceTimersByTimeAsync(90_000);
  expect(log.mock.calls.map(([, error]) => error as unknown)).toEqual([thrown, rejected]);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(run).toHaveBeenCalledTimes(3);
  log.mockRestore();
  await server.close(0);
});

test('the server has no address for a scheduled function', async () => {
  const { server } = await start();
  jest.useRealTimers();
  expect([...server.addresses]).toEqual([]);
  expect((await fetch(`${server.origin}/demo-test/us-central1/sweep`, { method: 'POST' })).status).toBe(404);
  await server.close(0);
});

test('startSchedules rejects any schedule other than every minute', () => {
  const scheduled = { __endpoint: { scheduleTrigger: { schedule: 'every 5 minutes' } }, run: jest.fn() };
  expect(() => startSchedules([scheduled])).toThrow('every 5 minutes is not supported');
});
