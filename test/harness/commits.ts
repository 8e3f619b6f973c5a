import type { Call, Code } from '../../emulator/src';
import type { TestDatabase } from './database';

/** Recognises the commits of an attempt, and injects faults at them. */

type Commit = Call<'Commit'>;
type Match = (call: Commit) => boolean;

export const getCommits = (calls: readonly Call[]) => calls.filter(({ rpc }) => rpc === 'Commit') as Commit[];

export const getNames = ({ request }: Commit) => request.writes.map(({ name }) => name);

const hasName = (call: Commit, pattern: RegExp) => getNames(call).some((name) => pattern.test(name));

export const isEntries: Match = (call) => hasName(call, /\/products\//);
export const isClaim: Match = (call) => hasName(call, /\/price_list_payload\//);

/** Matches a commit that writes a key record but is not a claim, such as a renewal, a completion or a failure. */
export const isKeyEvent: Match = (call) => !isClaim(call) && hasName(call, /\/price_list_idempotency\//);

interface Failure {
  code: Code;
  nth: number;
  times: number;
  when: 'before' | 'after';
}

/** Fails commits of one kind, by default all of them with an error that is not retried. */
export const failCommits = (
  { firestore }: TestDatabase,
  match: Match,
  { code = 'PERMISSION_DENIED', nth = 1, times = 1_000, when = 'before' }: Partial<Failure> = {},
) => firestore.faults.inject({ rpc: 'Commit', match, nth, times, when, action: { kind: 'error', code } });

/** Calls a function when a commit of one kind arrives, before the commit takes effect; by default at the first such commit. */
export const atCommit = ({ firestore }: TestDatabase, match: Match, run: () => unknown, { nth = 1, times = 1 } = {}) =>
  firestore.faults.inject({ rpc: 'Commit', match, nth, times, action: { kind: 'call', run } });
