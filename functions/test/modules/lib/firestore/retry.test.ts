import { createWorkContext, type WorkContext } from '../../../../src/lib/work-context';
import { StoppedError } from '../../../../src/lib/errors';
import { retry } from '../../../../src/lib/firestore/retry';
import type { Clock } from '../../../../src/lib/clock';
import type { RetryLimit } from '../../../../src/lib/time-limits';
import { ManualClock } from '../../../../../test/harness/clock';

const NEVER = new AbortController().signal;

const TRANSIENT = [1, 2, 4, 8, 10, 13, 14, 16];
const CONFLICT = [6, 9];
const PERMANENT = [3, 5, 7, 11, 12, 15, undefined];
const RESOURCE_EXHAUSTED = 8;

const createContext = (clock: Clock, signal = NEVER) => ({ ...createWorkContext(signal), clock, random: () => 0 });

const createError = (code: number | undefined) =>
  Object.assign(new Error(`code ${code ?? 'none'}`), code === undefined ? {} : { code });

/** Retries a function. Each of its calls takes `tryMs`. The calls fail with these codes, one after another, and then succeed. */
async function retryFailing(
  codes: readonly (number | undefined)[],
  { tryMs = 0, limit = 'outage', ...context }: Partial<WorkContext> & { tryMs?: number; limit?: RetryLimit } = {},
) {
  const clock = new ManualClock(1_000);
  let tries = 0;
  const call = () => {
    clock.advance(tryMs);
    const fails = tries < codes.length;
    const code = codes[tries];
    tries += 1;
    return fails ? Promise.reject(createError(code)) : Promise.resolve('done');
  };
  const outcome = await retry(call, { ...createContext(clock), ...context }, limit).catch((error: unknown) => error);
  return { outcome, tries, slept: clock.slept };
}

const times = (count: number, code: number) => Array<number>(count).fill(code);

describe('retry', () => {
  test.each([...TRANSIENT, ...CONFLICT].filter((code) => code !== RESOURCE_EXHAUSTED))(
    'calls the function again after the code %i',
    async (code) => {
      expect(await retryFailing([code, code])).toEqual({ outcome: 'done', tries: 3, slept: [125, 250] });
    },
  );

  test('waits four times as long after RESOURCE_EXHAUSTED, up to the maximum pause', async () => {
    const codes = times(4, RESOURCE_EXHAUSTED);
    expect(await retryFailing(codes)).toEqual({ outcome: 'done', tries: 5, slept: [500, 1_000, 2_000, 2_500] });
  });

  test.each(PERMANENT)('throws an error with the code %s at once', async (code) => {
    expect(await retryFailing([code])).toEqual({ outcome: createError(code), tries: 1, slept: [] });
  });

  test('succeeds after an outage of 55 s, with pauses of at most 5 s', async () => {
    const { outcome, slept } = await retryFailing(times(15, 14), { random: () => 0.999 });
    expect(outcome).toBe('done');
    expect(slept.slice(0, 6).map(Math.round)).toEqual([250, 500, 1_000, 1_999, 3_998, 4_998]);
    expect(Math.max(...slept)).toBeLessThanOrEqual(5_000);
    expect(slept.reduce((sum, ms) => sum + ms)).toBeGreaterThan(55_000);
  });

  test('with the limit `outage` calls the function again at most 60 s after the first call began', async () => {
    expect(await retryFailing([14], { tryMs: 59_875 })).toMatchObject({ outcome: 'done', tries: 2, slept: [125] });
    expect(await retryFailing([14], { tryMs: 59_876 })).toMatchObject({ outcome: createError(14), tries: 1 });
  });

  test('continues for more than 19 minutes for a creation that has claimed its key', async () => {
    const { outcome, slept } = await retryFailing(times(500, 14), { limit: 'attempt' });
    expect(outcome).toBe('done');
    expect(slept.reduce((sum, ms) => sum + ms)).toBeGreaterThan(1_140_000);
  });

  test('does not call the function if its signal has already aborted', async () => {
    const reason = new Error('timeout');
    const signal = AbortSignal.abort(reason);
    expect(await retryFailing([], { signal })).toEqual({ outcome: reason, tries: 0, slept: [] });
  });

  test('rejects with the reason of its signal if the signal aborts during the first call', async () => {
    const timeout = new AbortController();
    const call = () => new Promise<never>(() => undefined);
    const ended = retry(call, createContext(new ManualClock(0), timeout.signal), 'outage');
    timeout.abort(new Error('timeout'));
    await expect(ended).rejects.toThrow('timeout');
  });

  describe.each([
    ['runs out', new Error('timeout'), 'code 14'],
    ['is cut short by a stop', new StoppedError('the instance stops'), 'the instance stops'],
  ])('whose time %s', (_, reason, expected) => {
    test(`during a pause rejects with "${expected}"`, async () => {
      const timeout = new AbortController();
      const clock = new ManualClock(0);
      jest.spyOn(clock, 'sleep').mockImplementation((_ms, signal) => {
        timeout.abort(reason);
        return Promise.reject(new DOMException(String(signal.aborted), 'AbortError'));
      });
      const call = () => Promise.reject(createError(14));
      await expect(retry(call, createContext(clock, timeout.signal), 'outage')).rejects.toThrow(expected);
    });

    test(`during a call rejects with "${expected}"`, async () => {
      const timeout = new AbortController();
      let tries = 0;
      const call = () => {
        tries += 1;
        if (tries < 3) return Promise.reject(createError(tries === 1 ? 13 : 14));
        timeout.abort(reason);
        return new Promise<never>(() => undefined);
      };
      await expect(retry(call, createContext(new ManualClock(0), timeout.signal), 'outage')).rejects.toThrow(expected);
    });
  });
});
