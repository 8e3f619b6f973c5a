import { isDeepStrictEqual } from 'node:util';
import type { Json } from './protocol';
import type { Answer, Operation } from './sequence';

/** Why an entry is on the list. */
export type Verdict =
  /** Google's emulator is wrong, by production's documents. */
  | 'the embedded one is right'
  /** Production documents neither answer. */
  | 'undocumented';

/** A known difference between Google's emulator and the embedded Firestore. */
export interface Deviation {
  readonly verdict: Verdict;
  readonly what: string;
  /** What Google's emulator answers. */
  readonly google: string;
  /** What the embedded Firestore answers. */
  readonly embedded: string;
  /** What production documents, and where. */
  readonly production: string;
  readonly source: string;
  readonly matches: (found: Found) => boolean;
}

/** Two answers to one call that differ. */
interface Found {
  readonly operation: Operation;
  readonly google: Answer;
  readonly ours: Answer;
}

const RPC = 'https://firebase.google.com/docs/firestore/reference/rpc/google.firestore.v1';
const QUOTAS = 'https://firebase.google.com/docs/firestore/quotas';

const OK = 0;
const UNKNOWN = 2;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;

/** Google's emulator answers with a code, the embedded one with one of these codes, to a request of this kind. */
const when =
  (code: number, ours: readonly number[], isMeant: (found: Found) => boolean): Deviation['matches'] =>
  (found) =>
    found.google.code === code && ours.includes(found.ours.code) && isMeant(found);

/** The embedded Firestore refuses what Google's emulator accepts. */
const whenRefused = (isMeant: (found: Found) => boolean): Deviation['matches'] => when(OK, [INVALID_ARGUMENT], isMeant);

/** Whether both accept, and differ only in entries of their results that have these names. */
const differsIn = ({ google, ours }: Found, names: RegExp): boolean => {
  const strip = (result: Json | undefined): unknown =>
    JSON.parse(JSON.stringify(result ?? null), (key, value: unknown) => (names.test(key) ? undefined : value));
  return google.code === OK && ours.code === OK && isDeepStrictEqual(strip(google.result), strip(ours.result));
};

const toText = ({ operation }: Found): string => JSON.stringify(operation.request);

const contains =
  (pattern: RegExp) =>
  (found: Found): boolean =>
    pattern.test(toText(found));

/** Whether a name, a key or a path in the request has at least this many bytes, or more than 100 steps. */
const hasLongName =
  (bytes: number) =>
  (found: Found): boolean =>
    [...toText(found).matchAll(/"([^"]*)"/g)].some(
      ([, text = '']) =>
        text.split('/').some((id) => Buffer.byteLength(id) >= bytes) || text.split(/[/.]/).length > MAX_STEPS,
    );
const MAX_STEPS = 100;

/** Whether a commit writes a document more than once. */
function writesTwice(found: Found): boolean {
  const names = [...toText(found).matchAll(/"(?:name|delete|document)":("[^"]*\/documents\/[^"]*")/g)];
  return found.operation.rpc === 'Commit' && new Set(names.map(([, name]) => name)).size < names.length;
}

/** Whether two batches differ in preconditions on update times alone: Google's emulator says INVALID_ARGUMENT or NOT_FOUND. */
function differsInUpdateTimes({ operation, google, ours }: Found): boolean {
  if (operation.rpc !== 'BatchWrite' || google.code !== OK || ours.code !== OK) return false;
  const [theirs, mine] = [google.result, ours.result] as { status: number[] }[];
  const isKnown = (code: number, i: number): boolean =>
    code === mine?.status[i] ||
    (mine?.status[i] === FAILED_PRECONDITION && (code === INVALID_ARGUMENT || code === NOT_FOUND));
  return (
    theirs?.status.every(isKnown) === true && isDeepStrictEqual({ ...theirs, status: [] }, { ...mine, status: [] })
  );
}

/** Every known difference. The first entry that matches explains a difference. */
export const deviations: readonly Deviation[] = [
  {
    verdict: 'the embedded one is right',
    what: 'Six aggregations',
    google: 'UNKNOWN',
    embedded: 'INVALID_ARGUMENT',
    production: 'at most five aggregations',
    source: 'https://firebase.google.com/docs/firestore/query-data/aggregation-queries',
    matches: when(UNKNOWN, [INVALID_ARGUMENT], contains(/"c5"/)),
  },
  {
    verdict: 'the embedded one is right',
    what: 'Bytes that are no message, a malformed page token',
    google: 'UNKNOWN',
    embedded: 'INVALID_ARGUMENT',
    production: 'INVALID_ARGUMENT for what is malformed',
    source: 'https://firebase.google.com/docs/firestore/understand-error-codes',
    matches: when(
      UNKNOWN,
      [INVALID_ARGUMENT],
      (found) => found.operation.bytes !== undefined || contains(/"pageToken"/)(found),
    ),
  },
  {
    verdict: 'the embedded one is right',
    what: 'A commit over 4 MiB',
    google: 'RESOURCE_EXHAUSTED',
    embedded: 'accepted up to 10 MiB, then INVALID_ARGUMENT',
    production: 'the maximum size of a request is 10 MiB',
    source: QUOTAS,
    matches: when(RESOURCE_EXHAUSTED, [OK, INVALID_ARGUMENT], (found) => toText(found).length > 4 * 2 ** 20),
  },
  {
    verdict: 'the embedded one is right',
    what: 'A precondition on an update time that is later than the stored one',
    google: 'INVALID_ARGUMENT; NOT_FOUND in a batch, where the document does not exist',
    embedded: 'FAILED_PRECONDITION',
    production: 'the document must exist and have been last updated at that time; FAILED_PRECONDITION otherwise',
    source: `${RPC}#precondition`,
    matches: (found) =>
      when(INVALID_ARGUMENT, [FAILED_PRECONDITION], contains(/"updateTime"/))(found) || differsInUpdateTimes(found),
  },
  {
    verdict: 'the embedded one is right',
    what: 'Ids and field paths over 1,500 bytes, field paths of over 100 steps',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    production: 'at most 1,500 bytes of an id and of a field path, 100 subcollections',
    source: `${QUOTAS}#limits`,
    matches: whenRefused(hasLongName(1501)),
  },
  {
    verdict: 'the embedded one is right',
    what: 'Ids such as ____, and the key __name__ in a map',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    production: 'an id or a field name cannot match __.*__',
    source: `${QUOTAS}#limits`,
    matches: whenRefused(contains(/["/`.]__([^"/]*__)?["/`.]/)),
  },
  {
    verdict: 'the embedded one is right',
    what: 'A document of another database than the request’s',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    production: 'the documents of a request are of its database',
    source: `${RPC}#commitrequest`,
    matches: whenRefused(contains(/projects\/other\//)),
  },
  {
    verdict: 'the embedded one is right',
    what: 'A field path of exactly 1,500 bytes',
    google: 'INVALID_ARGUMENT: longer than 1500 bytes',
    embedded: 'accepted',
    production: 'at most 1,500 bytes',
    source: `${QUOTAS}#limits`,
    matches: when(INVALID_ARGUMENT, [OK], hasLongName(1500)),
  },
  {
    verdict: 'the embedded one is right',
    what: 'A read time older than an hour',
    google: 'accepted up to seven days, as with point-in-time recovery',
    embedded: 'FAILED_PRECONDITION',
    production: 'within the past hour; whole minutes of seven days where point-in-time recovery is enabled',
    source: `${RPC}#getdocumentrequest`,
    matches: when(OK, [FAILED_PRECONDITION], contains(/"readTime"/)),
  },
  {
    verdict: 'undocumented',
    what: 'A precondition on an update time that is the time at which the document was deleted',
    google: 'NOT_FOUND',
    embedded: 'FAILED_PRECONDITION',
    production:
      'the document must exist and have been last updated at that time; which status says so is not mentioned',
    source: `${RPC}#precondition`,
    matches: when(NOT_FOUND, [FAILED_PRECONDITION], contains(/"updateTime"/)),
  },
  {
    verdict: 'undocumented',
    what: 'Writes of one document in one commit, of which a later one has a precondition',
    google: 'INVALID_ARGUMENT for several combinations',
    embedded: 'applies them in order, each with its precondition',
    production: 'writes are executed atomically and in order; nothing forbids a combination',
    source: `${RPC}#commitrequest`,
    matches: when(INVALID_ARGUMENT, [OK, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION], writesTwice),
  },
  {
    verdict: 'undocumented',
    what: 'The update times of writes of one document in one commit, of which one is a deletion',
    google: 'that of the last write for each of them, none if it deletes',
    embedded: 'none for the deletion',
    production: 'not set after a delete',
    source: `${RPC}#writeresult`,
    matches: (found) => writesTwice(found) && differsIn(found, /^updateTime$/),
  },
  {
    verdict: 'undocumented',
    what: 'A filter or a cursor with a time that is finer than a microsecond',
    google: 'compares the time as it is, so nothing is equal to it; in an array or a map it is rounded down',
    embedded: 'rounds it down, as the stored times are',
    production: 'stored times are rounded down to microseconds; times in queries are not mentioned',
    source: 'https://firebase.google.com/docs/firestore/manage-data/data-types',
    matches: (found) =>
      found.operation.rpc.startsWith('Run') &&
      found.google.code === OK &&
      found.ours.code === OK &&
      /"nanos":\d*[1-9]\d{0,2}[,}]/.test(toText(found)),
  },
  {
    verdict: 'undocumented',
    what: 'A transaction that reads no documents, or queries all collections',
    google: 'UNKNOWN',
    embedded: 'the answer of the same request outside of transactions',
    production: 'nothing forbids either',
    source: `${RPC}#batchgetdocumentsrequest`,
    matches: (found) =>
      found.google.code === UNKNOWN &&
      'transaction' in found.operation.request &&
      [OK, INVALID_ARGUMENT].includes(found.ours.code) &&
      /"documents":\[\]|"from":\[\{("allDescendants":true)?\}\]/.test(toText(found)),
  },
  {
    verdict: 'undocumented',
    what: 'A query that is ordered by the name twice',
    google: 'FAILED_PRECONDITION where one of them is descending, or for a collection group below a document',
    embedded: 'INVALID_ARGUMENT: a field twice',
    production: 'both are refused; which comes first is not said',
    source: `${RPC}#structuredquery`,
    matches: when(FAILED_PRECONDITION, [INVALID_ARGUMENT], contains(/"orderBy".*"__name__".*"__name__"/)),
  },
];
