import type { Answer, Operation } from './sequence';

/** Why an entry is on the list. */
export type Verdict =
  /** Google's emulator is wrong, by production's documents. */
  | 'the embedded one is right'
  /** Production documents neither answer. */
  | 'undocumented'
  /** The embedded Firestore does not serve it. */
  | 'not served';

/** A known difference between Google's emulator and the embedded Firestore. */
export interface Deviation {
  readonly id: string;
  readonly what: string;
  /** What Google's emulator answers. */
  readonly google: string;
  /** What the embedded Firestore answers. */
  readonly embedded: string;
  readonly verdict: Verdict;
  /** What production documents. */
  readonly production: string;
  readonly source: string;
  readonly matches: (found: Found) => boolean;
}

/** Two answers to one call that differ. */
export interface Found {
  readonly operation: Operation;
  readonly google: Answer;
  readonly ours: Answer;
}

const RPC = 'https://firebase.google.com/docs/firestore/reference/rpc/google.firestore.v1';
const QUOTAS = 'https://firebase.google.com/docs/firestore/quotas';
const SDK = 'https://github.com/googleapis/nodejs-firestore/blob/v7.11.6/dev';

const OK = 0;
const UNKNOWN = 2;
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const UNIMPLEMENTED = 12;

/** Google's emulator refuses a request with a text. */
const refuses =
  (text: RegExp, code = INVALID_ARGUMENT): Deviation['matches'] =>
  ({ google }) =>
    google.code === code && text.test(google.message ?? '');

/** The embedded Firestore refuses, with a text, what Google's emulator accepts. */
const isRefused =
  (text: RegExp): Deviation['matches'] =>
  ({ google, ours }) =>
    google.code === OK && ours.code === INVALID_ARGUMENT && text.test(ours.message ?? '');

/** Both accept, and the results differ. */
const differs =
  (...rpcs: string[]): Deviation['matches'] =>
  ({ operation, google, ours }) =>
    rpcs.includes(operation.rpc) && google.code === OK && ours.code === OK;

const text = (value: unknown): string => JSON.stringify(value ?? null);

/** Whether a commit writes a document more than once. */
function writesTwice({ operation }: Found): boolean {
  const names = [
    ...text(operation.request['writes']).matchAll(/"(?:name|delete|document)":("[^"]*\/documents\/[^"]*")/g),
  ];
  return new Set(names.map(([, name]) => name)).size < names.length;
}

/** Whether a request holds a time that is finer than a microsecond. */
const hasFineTime = (request: unknown): boolean =>
  [...text(request).matchAll(/"nanos":(\d+)/g)].some(([, nanos]) => Number(nanos) % 1000 !== 0);

const withoutTimes = (result: unknown): string => text(result).replace(/"updateTime":"t[\d.]+"/g, '"updateTime"');

/** Every known difference. The first entry that matches explains a difference. */
export const deviations: readonly Deviation[] = [
  {
    id: 'own failure',
    what: 'Requests that Google’s emulator fails on: six aggregations, bytes that are no message, an empty path, a bad parent',
    google: 'UNKNOWN',
    embedded: 'INVALID_ARGUMENT, or an answer',
    verdict: 'the embedded one is right',
    production: 'at most five aggregations; INVALID_ARGUMENT for what is malformed',
    source: `${QUOTAS}#limits`,
    matches: ({ google }) => google.code === UNKNOWN,
  },
  {
    id: 'message size',
    what: 'A commit over 4 MiB',
    google: 'RESOURCE_EXHAUSTED',
    embedded: 'accepted up to 10 MiB, then INVALID_ARGUMENT',
    verdict: 'the embedded one is right',
    production: 'the maximum size of a request is 10 MiB',
    source: QUOTAS,
    matches: refuses(/exceeds maximum size/, RESOURCE_EXHAUSTED),
  },
  {
    id: 'lock timeout',
    what: 'A write against a lock that a transaction holds',
    google: 'ABORTED after 2 s',
    embedded: 'waits until the transaction ends',
    verdict: 'undocumented',
    production: 'a write outside of transactions waits for locks; how long is not said',
    source: 'https://firebase.google.com/docs/firestore/transaction-data-contention',
    matches: ({ google, ours }) => google.code === ABORTED && ours.code === DEADLINE_EXCEEDED,
  },
  {
    id: 'text of an ended transaction',
    what: 'The text for a transaction that has ended, or never was',
    google: '“Transaction is invalid or closed.”',
    embedded: '“The referenced transaction has expired or is no longer valid.”',
    verdict: 'the embedded one is right',
    production: 'the text that the SDK recognizes, to begin the transaction again',
    source: `${SDK}/src/transaction.ts`,
    matches: ({ google, ours }) =>
      google.code === INVALID_ARGUMENT &&
      ours.code === INVALID_ARGUMENT &&
      (ours.message ?? '').includes('transaction has expired'),
  },
  {
    id: 'rollback after commit',
    what: 'The rollback of a transaction that has been committed',
    google: 'OK',
    embedded: 'INVALID_ARGUMENT',
    verdict: 'undocumented',
    production: 'says nothing; a used id is INVALID_ARGUMENT for every other operation',
    source: `${RPC}#rollbackrequest`,
    matches: ({ operation, google, ours }) =>
      operation.rpc === 'Rollback' && google.code === OK && ours.code === INVALID_ARGUMENT,
  },
  {
    id: 'update time above the stored one',
    what: 'A precondition on an update time that is later than the stored one',
    google: 'INVALID_ARGUMENT; NOT_FOUND in a batch, where the document does not exist',
    embedded: 'FAILED_PRECONDITION',
    verdict: 'the embedded one is right',
    production: 'the document must exist and have been last updated at that time; FAILED_PRECONDITION otherwise',
    source: `${RPC}#precondition`,
    matches: (found) =>
      refuses(/greater than the stored version/)(found) ||
      (differs('BatchWrite')(found) && /"status":\[[^\]]*[35]/.test(text(found.google.result))),
  },
  {
    id: 'update time of a deleted document',
    what: 'A precondition on an update time that is the time at which the document was deleted',
    google: 'NOT_FOUND',
    embedded: 'FAILED_PRECONDITION',
    verdict: 'undocumented',
    production:
      'the document must exist and have been last updated at that time; which status says so is not mentioned',
    source: `${RPC}#precondition`,
    matches: (found) =>
      refuses(/no entity to update/, NOT_FOUND)(found) &&
      found.ours.code === FAILED_PRECONDITION &&
      text(found.operation.request).includes('"updateTime"'),
  },
  {
    id: 'several writes of one document',
    what: 'Writes of one document in one commit, of which a later one has a precondition',
    google: 'INVALID_ARGUMENT for several combinations',
    embedded: 'applies them in order, each with its precondition',
    verdict: 'undocumented',
    production: 'writes are executed atomically and in order; nothing forbids a combination',
    source: `${RPC}#commitrequest`,
    matches: (found) =>
      refuses(/in the same request|Cannot collapse/)(found) || (found.operation.rpc === 'Commit' && writesTwice(found)),
  },
  {
    id: 'not-in in a disjunction',
    what: 'not-in with a disjunction',
    google: 'INVALID_ARGUMENT',
    embedded: 'accepted',
    verdict: 'the embedded one is right',
    production:
      'the limits of OR queries exclude not-in with in, array-contains-any and or in one query; the SDK’s system tests require it to work',
    source: `${SDK}/system-test/firestore.ts`,
    matches: refuses(/^'NOT_IN' cannot be used in the same query/),
  },
  {
    id: 'names and paths that are too long',
    what: 'Ids and field paths over 1,500 bytes, field paths of over 100 steps',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    verdict: 'the embedded one is right',
    production: 'at most 1,500 bytes of an id and of a field path, 100 subcollections',
    source: `${QUOTAS}#limits`,
    matches: isRefused(/longer than|at most/),
  },
  {
    id: 'reserved names',
    what: 'Ids such as ____, and the key __name__ in a map',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    verdict: 'the embedded one is right',
    production: 'an id or a field name cannot match __.*__',
    source: `${QUOTAS}#limits`,
    matches: isRefused(/reserved|begin and end with/),
  },
  {
    id: 'another database',
    what: 'A document of another database than the request’s',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    verdict: 'the embedded one is right',
    production: 'the documents of a request are of its database',
    source: `${RPC}#commitrequest`,
    matches: isRefused(/is not in the database/),
  },
  {
    id: 'arrays in arrays by a transform',
    what: 'A union that adds an array to an array',
    google: 'accepted',
    embedded: 'INVALID_ARGUMENT',
    verdict: 'the embedded one is right',
    production: 'an array cannot contain another array',
    source: `${RPC}#arrayvalue`,
    matches: isRefused(/array value in an array value/),
  },
  {
    id: 'collection of no name',
    what: 'A query of the collection ""',
    google: 'the documents of every collection',
    embedded: 'no documents',
    verdict: 'undocumented',
    production: 'when not set, all collections are selected; the empty name is not mentioned',
    source: `${RPC}#collectionselector`,
    matches: (found) => found.google.code === OK && /"collectionId":""|"from":\[\]/.test(text(found.operation.request)),
  },
  {
    id: 'comparison with null and NaN',
    what: 'Inequalities with null or NaN as a value',
    google: 'nothing for null, whatever the order; for NaN, NaN too; no order for sums',
    embedded: 'NOT_EQUAL as IS_NOT_NULL and IS_NOT_NAN; rules of orders hold',
    verdict: 'undocumented',
    production: 'SDKs send unary filters for both',
    source: `${RPC}#unaryfilter`,
    matches: (found) =>
      (found.google.code === OK || refuses(/requires an index that has fields/)(found)) &&
      /"op":"(NOT_|LESS_|GREATER_)/.test(text(found.operation.request)) &&
      /NULL_VALUE|"NaN"/.test(text(found.operation.request)),
  },
  {
    id: 'a time finer than a microsecond',
    what: 'A filter or a cursor with a time that is finer than a microsecond',
    google: 'compares the time as it is, so nothing is equal to it; in an array or a map it is rounded down',
    embedded: 'rounds it down, as the stored times are',
    verdict: 'undocumented',
    production: 'stored times are rounded down to microseconds; times in queries are not mentioned',
    source: 'https://firebase.google.com/docs/firestore/manage-data/data-types',
    matches: (found) => differs('RunQuery', 'RunAggregationQuery')(found) && hasFineTime(found.operation.request),
  },
  {
    id: 'times of a batch of writes',
    what: 'The update times of BatchWrite',
    google: 'one for each write',
    embedded: 'one for all',
    verdict: 'undocumented',
    production: 'the writes are not applied atomically; their times are not mentioned',
    source: `${RPC}#batchwriteresponse`,
    matches: (found) =>
      differs('BatchWrite')(found) && withoutTimes(found.google.result) === withoutTimes(found.ours.result),
  },
  {
    id: 'a field path of 1,500 bytes',
    what: 'A field path of exactly 1,500 bytes',
    google: 'INVALID_ARGUMENT: longer than 1500 bytes',
    embedded: 'accepted',
    verdict: 'the embedded one is right',
    production: 'at most 1,500 bytes',
    source: `${QUOTAS}#limits`,
    matches: refuses(/property path is longer/),
  },
  {
    id: 'listing with missing documents',
    what: 'ListDocuments with missing documents: its mask, and the update time of one that was deleted',
    google: 'ignores the mask, has the time',
    embedded: 'the fields of the mask, no time',
    verdict: 'the embedded one is right',
    production: 'a field that is not in the mask is not returned; a missing document has neither time',
    source: `${RPC}#listdocumentsrequest`,
    matches: (found) => differs('ListDocuments')(found) && found.operation.request['showMissing'] === true,
  },
  {
    id: 'order of a listing',
    what: 'ListDocuments in an order',
    google: 'the documents in this order',
    embedded: 'UNIMPLEMENTED',
    verdict: 'not served',
    production: 'an optional order, such as “priority desc, __name__ desc”',
    source: `${RPC}#listdocumentsrequest`,
    matches: ({ operation, ours }) => operation.rpc === 'ListDocuments' && ours.code === UNIMPLEMENTED,
  },
  {
    id: 'the name twice in an order',
    what: 'A query that is ordered by the name twice',
    google: 'FAILED_PRECONDITION where one of them is descending, or for a collection group below a document',
    embedded: 'INVALID_ARGUMENT: a field twice',
    verdict: 'undocumented',
    production: 'both are refused; which comes first is not said',
    source: `${RPC}#structuredquery`,
    matches: refuses(/descending key scans|collection group queries are only allowed if/, FAILED_PRECONDITION),
  },
];

/** The entry that explains a difference. */
export const findDeviation = (found: Found): Deviation | undefined => deviations.find(({ matches }) => matches(found));
