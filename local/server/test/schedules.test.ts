import { setTimeout as delay } from 'node:timers/promises';
import { startFunctionsServer, type DeployableFunction } from '../functions-server';
import { startSchedules, type ScheduledFunction } from '../schedules';

const createScheduled = (schedule: string) => {
  const run = jest.fn();
  return { run, scheduled: { __endpoint: { region: ['us-central1'], scheduleTrigger: { schedule } }, run } };
};

test('calls a scheduled function again and again until it is stopped', async () => {
  const { run, scheduled } = createScheduled('* * * * *');
  const stop = startSchedules([scheduled], 10);
  while (run.mock.calls.length < 3) await delay(10);
  stop();
  const calls = run.mock.calls.length;
  await delay(50);
  expect(run).toHaveBeenCalledTimes(calls);
  expect(run).toHaveBeenCalledWith({ scheduleTime: expect.stringMatching(/^\d{4}-.*Z$/) as string });
});

test('rejects a schedule that it does not know', () => {
  const { scheduled } = createScheduled('every 5 minutes');
  expect(() => startSchedules([scheduled])).toThrow('every 5 minutes is not known');
});

test('the server has no address for a scheduled function', async () => {
  const { scheduled } = createScheduled('* * * * *');
  const functions = { sweep: scheduled as ScheduledFunction as unknown as DeployableFunction };
  const server = await startFunctionsServer({ port: 0, project: 'demo-test', functions });
  expect([...server.addresses]).toEqual([]);
  expect((await fetch(`${server.origin}/demo-test/us-central1/sweep`, { method: 'POST' })).status).toBe(404);
  await server.close(0);
});
