import { globSync, readFileSync } from 'node:fs';
import { writeOptions } from '../../functions/src/lib/runtime-options';
import {
  getTimeLimitMs,
  LEASE_DURATION_MS,
  SWEEP_INTERVAL_MS,
  SWEEP_START_MS,
} from '../../functions/src/lib/time-limits';
import { canResumeAutomatically, SWEEP_WAIT_MS } from '../../functions/src/price-lists/schedule';
import { failed } from '../harness/key-records';

/** Tests that the pages state the same numbers of tries and seconds as the code. */

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'];

const pages = globSync('docs/*.md').map((path) => [path, readFileSync(path, 'utf8')] as const);

/** Returns the different texts that the group of a pattern matches in the pages, and requires at least one. */
function findStated(pattern: RegExp): string[] {
  const found = pages.flatMap(([, text]) => [...text.matchAll(pattern)].map(([, value = '']) => value));
  expect(found).not.toEqual([]);
  return [...new Set(found)];
}

test('a key needs an operator after as many failed tries as the pages say', () => {
  const tries = WORDS.findIndex((_, i) => i > 0 && !canResumeAutomatically({ ...failed, failed_tries: i }));
  expect(findStated(/until (\w+) tries have failed/g)).toEqual([WORDS[tries]]);
});

test('a resume begins at most as long after the death of an instance as the pages say', () => {
  const seconds = (LEASE_DURATION_MS + SWEEP_INTERVAL_MS + SWEEP_START_MS) / 1000;
  expect(findStated(/begins at most (\d+) s later/g)).toEqual([String(seconds)]);
});

test('the longest Retry-After is the one that the pages say', () => {
  const stated = findStated(/one more for each 2,000 products, at most (\d+)/g);
  expect(stated).toEqual([String(SWEEP_WAIT_MS / 1000)]);
});

test('a creation stops itself after as many seconds as the pages say', () => {
  const seconds = getTimeLimitMs(writeOptions, true) / 1000;
  expect(findStated(/add price lists ([\d,]+) s\b/g)).toContain(seconds.toLocaleString('en-GB'));
});
