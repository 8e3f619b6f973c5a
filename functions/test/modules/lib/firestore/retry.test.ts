import fc from 'fast-check';
import { retry, type RetryOptions } from '../../../../src/lib/firestore/retry';
import { ManualClock } from '../../../support/clock';

const NEVER = new AbortController().signal;

/** gRPC status codes by what they say of a call: nothing, that it may be taken again, or that it failed. */
const PASSING = [1, 2, 4, 8, 10, 13, 14, 16];
const CONFLICT = [6, 9];
const FINAL = [3, 5, 7, 11, 12, 15, undefined];

const failure = (code: number | undefined) =>
  Object.assign(new Error(`code ${code ?? 'none'}`), code === undefined ? {} : { code });

/** Rides out failures of these codes, one a try, each of which takes a while; then succeeds. */
async function riding(codes: readonly (number | undefined)[], more: Partial<RetryOptions> & { tryMs?: number } = {}) {
  const { tryMs = 0, ...rest } = more;
  const clock = new ManualClock(1_000);
  let tries = 0;
  const call = () => {
    clock.advance(tryMs);
    const failing = tries < codes.length;
    const code = codes[tries];
    tries += 1;
    return failing ? Promise.reject(failure(code)) : Promise.resolve('done');
  };
  const outcome = await retry(call, { clock, random: () => 0, signal: NEVER, ...rest }).catch(
    (error: unknown) => error,
  );
  return { outcome, tries, slept: clock.slept };
}

describe('riding out', () => {
  test.each([...PASSING, ...CONFLICT])('tries again after the code %i', async (code) => {
    expect(await riding([code, code])).toEqual({ outcome: 'done', tries: 3, slept: [125, 250] });
  });

  test.each(FINAL)('believes the code %s at once', async (code) => {
    expect(await riding([code])).toEqual({ outcome: failure(code), tries: 1, slept: [] });
  });

  test('believes what is no error of Firestore', async () => {
    const call = () => Promise.reject(new TypeError('a bug'));
    await expect(retry(call, { clock: new ManualClock(0), random: () => 0, signal: NEVER })).rejects.toThrow('a bug');
  });

  test('gives up after six tries, with the last error', async () => {
    const codes = [14, 14, 14, 14, 14, 13, 14];
    expect(await riding(codes)).toEqual({ outcome: failure(13), tries: 6, slept: [125, 250, 500, 1000, 2000] });
  });

  test('waits by chance between half of each delay and the whole', () =>
    fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), async (chance) => {
        const { slept } = await riding(Array<number>(5).fill(14), { random: () => chance });
        slept.forEach((ms, i) => {
          expect(ms).toBeGreaterThanOrEqual(125 * 2 ** i);
          expect(ms).toBeLessThanOrEqual(250 * 2 ** i);
        });
      }),
    ));

  test('starts no try later than a minute after the first', async () => {
    // Three tries of 20 s and the waits between them are more than a minute.
    expect(await riding(Array<number>(6).fill(4), { tryMs: 20_000 })).toMatchObject({ outcome: failure(4), tries: 3 });
  });

  test('does not begin when its time is up', async () => {
    const reason = new Error('time is up');
    expect(await riding([], { signal: AbortSignal.abort(reason) })).toEqual({ outcome: reason, tries: 0, slept: [] });
  });

  test('ends while a try is under way, as soon as its time is up', async () => {
    const timeUp = new AbortController();
    const call = () => new Promise<never>(() => undefined);
    const ended = retry(call, { clock: new ManualClock(0), random: () => 0, signal: timeUp.signal });
    timeUp.abort(new Error('time is up'));
    await expect(ended).rejects.toThrow('time is up');
  });
});
