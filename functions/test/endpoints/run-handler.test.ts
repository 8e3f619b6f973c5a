import domain, { type Domain } from 'node:domain';
import * as functions from '../../src';
import { logEvent } from '../../src/lib/logging/event';
import { operationNames, operations } from '../../../dev/run/operations';
import { useTestService } from '../../../test/harness/service';

/**
 * The Functions Framework calls a handler in a `node:domain`. Tests that no event is logged inside the domain, not even by
 * the last step of a handler.
 */

jest.mock('../../src/lib/logging/event', () => {
  const actual = jest.requireActual<{ logEvent: typeof logEvent }>('../../src/lib/logging/event');
  return { ...actual, logEvent: jest.fn() };
});

const service = useTestService(functions);
const ended: [event: string, domain: Domain | null | undefined][] = [];
beforeEach(() => {
  ended.length = 0;
  const { logEvent: log } = jest.requireActual<{ logEvent: typeof logEvent }>('../../src/lib/logging/event');
  jest.mocked(logEvent).mockImplementation((severity, event, ...rest) => {
    ended.push([event, (domain as { active?: Domain | null }).active]);
    log(severity, event, ...rest);
  });
});

test.each(operationNames)(
  'the handler of %s runs outside the `node:domain` of the Functions Framework',
  async (name) => {
    const { status } = await service.call(name, 'body' in operations[name] ? { json: operations[name].body } : {});
    expect(status).toBe(operations[name].emptyStatus);
    expect(ended.at(-1)?.[0]).toBe('request');
    expect(ended.filter(([, active]) => active != null)).toEqual([]);
  },
);

test('a sweep that is called in a `node:domain` runs outside it', async () => {
  await domain.create().run(() => functions.sweepPriceLists.run({ scheduleTime: new Date().toISOString() }));
  expect(ended.map(([event, active]) => [event, active ?? null])).toEqual([['sweep_ended', null]]);
});
