import { createRequestContext } from '../../../../src/lib/request-context';
import { AdaptiveThrottle } from '../../../../src/lib/firestore/adaptive-throttle';
import { ManualClock } from '../../../support/clock';

const NEVER = new AbortController().signal;
const overload = Object.assign(new Error('RESOURCE_EXHAUSTED'), { code: 8 });
const outage = Object.assign(new Error('UNAVAILABLE'), { code: 14 });

/** Makes calls that end as given, undefined for success. @returns the pause before each of them, in ms */
async function getPauses(outcomes: readonly (Error | undefined)[]): Promise<number[]> {
  const clock = new ManualClock(0);
  const throttle = new AdaptiveThrottle({ ...createRequestContext(NEVER), clock });
  const pauses: number[] = [];
  for (const error of outcomes) {
    const start = clock.now();
    const call = () => (error === undefined ? Promise.resolve('done') : Promise.reject(error));
    const outcome = await throttle.call(call).catch((cause: unknown) => cause);
    expect(outcome).toBe(error ?? 'done');
    pauses.push(clock.now() - start);
  }
  return pauses;
}

describe('an adaptive throttle', () => {
  test('has no pauses while there is no overload', async () => {
    expect(await getPauses([undefined, outage, undefined])).toEqual([0, 0, 0]);
  });

  test('doubles the pause with each overload, up to 5 s', async () => {
    const outcomes = Array<Error>(8).fill(overload);
    expect(await getPauses(outcomes)).toEqual([0, 100, 200, 400, 800, 1_600, 3_200, 5_000]);
  });

  test('shortens the pause with each success, until it ends', async () => {
    const pauses = await getPauses([overload, ...Array<undefined>(30).fill(undefined)]);
    expect(pauses.slice(0, 4)).toEqual([0, 100, 90, 81]);
    expect(pauses.at(-1)).toBe(0);
  });
});
