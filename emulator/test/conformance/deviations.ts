import {
  DOCUMENTS,
  OTHER,
  commit,
  inDatabase,
  long,
  map,
  read,
  remove,
  set,
  times,
  update,
  updated,
  type Call,
} from './calls';

/** A sequence of calls. For the last call, the embedded Firestore returns a different status from Google's emulator. */
export interface Deviation {
  readonly title: string;
  /** What the documentation of production says, at `source`. */
  readonly reason: string;
  readonly source: string;
  readonly calls: readonly Call[];
  /** The status that the embedded Firestore returns. */
  readonly code: number;
}

const RPC = 'https://firebase.google.com/docs/firestore/reference/rpc/google.firestore.v1';
const QUOTAS = 'https://firebase.google.com/docs/firestore/quotas';

const OK = 0;
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

const megabytes = (length: number): Call => commit(...times(length, (i) => update(`a/${i}`, { f: long(1_000_000) })));

/** The differences that the recording shows. */
export const deviations: readonly Deviation[] = [
  {
    title: 'a commit of 6 MB',
    reason: 'a request has at most 10 MiB',
    source: QUOTAS,
    calls: [megabytes(6)],
    code: OK,
  },
  {
    title: 'a commit of 11 MB',
    reason: 'a request has at most 10 MiB',
    source: QUOTAS,
    calls: [megabytes(11)],
    code: INVALID_ARGUMENT,
  },
  {
    title: 'a precondition on an update time that is later than the stored one',
    reason: 'the document must have been last updated at that time; the source names no status for other documents',
    source: `${RPC}#precondition`,
    calls: [set('a/1'), set('a/1', {}, updated('$time:0+1'))],
    code: FAILED_PRECONDITION,
  },
  {
    title: 'a precondition on the time at which the document was deleted',
    reason: 'the document must exist; the source names no status for one that does not',
    source: `${RPC}#precondition`,
    calls: [set('a/1'), commit(update('a/2'), remove('a/1')), set('a/1', {}, updated('$time:1'))],
    code: FAILED_PRECONDITION,
  },
  {
    title: 'the id ____',
    reason: 'an id cannot match __.*__',
    source: QUOTAS,
    calls: [set('a/____')],
    code: INVALID_ARGUMENT,
  },
  ...[
    commit({ update: { name: OTHER, fields: {} } }),
    inDatabase('BatchGetDocuments', { documents: [OTHER] }),
    commit({ update: { name: `${DOCUMENTS}/a/1`, fields: {} } }, { delete: OTHER }),
  ].map((call, i) => ({
    title: `a document of a different database from the request's, ${i + 1}`,
    reason: "a read fails if a document is not in the request's database; the source says nothing about commits",
    source: `${RPC}#batchgetdocumentsrequest`,
    calls: [call],
    code: INVALID_ARGUMENT,
  })),
  {
    title: 'a document that the 32 bytes of a map make too large',
    reason: 'the size of a map is that of its entries plus 32 bytes',
    source: 'https://firebase.google.com/docs/firestore/storage-size',
    calls: [set('a/1', { x: long(500_000), y: long(1024 * 1024 - 20 - 32 - 500_003 - 3 - 2 - 32 + 1), m: map({}) })],
    code: INVALID_ARGUMENT,
  },
  {
    title: 'a read time of 61 minutes ago',
    reason: 'a read time is within the past hour, or within seven days where point-in-time recovery is enabled',
    source: `${RPC}#getdocumentrequest`,
    calls: [set('a/1'), read(['a/1'], { readTime: '$ago:61' })],
    code: FAILED_PRECONDITION,
  },
];
