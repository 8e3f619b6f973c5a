import { isDeepStrictEqual } from 'node:util';
import { collections } from '../src/lib/firestore/collections';
import type { Database } from '../src/lib/firestore/database';
import { keyDocumentId, LIST_KINDS } from '../src/lib/repositories/price-lists';
import type { WorkContext } from '../src/lib/work-context';
import { getMarketFacts, parseKeyRecord, type KeyRecord } from '../src/lib/schemas/key-record';
import { AttemptReader } from './attempt-reader';
import { forEachConcurrently } from '../records/concurrency';
import {
  checkAttempt,
  checkKeyRecord,
  checkOverdue,
  checkSweepDueAt,
  checkTimes,
  getAttemptsOfKey,
  getListPath,
  type Violation,
} from './invariants';
import {
  ATTEMPT_COLLECTIONS,
  ID_TYPE_OF,
  PAGE_SIZE,
  SUBCOLLECTION_OF,
  findBoqListIds,
  findNextParent,
  readKeyDocument,
  readPage,
  readPages,
  type AttemptCollection,
  type Fields,
  type StoredDocument,
} from '../records/stored-records';

/**
 * The audit checks the records of add price lists and reports each violation of an invariant
 * (invariants.ts). It writes nothing, and can run during creations, resumes and sweeps. Each
 * reported violation existed at one moment:
 *
 * - The audit reads a key record before the records of its attempts, and again before it reports a
 *   violation. The checked records are written in one commit with the key record, or are complete
 *   before that commit. So if both reads show the same state, the violation existed between them.
 *   Otherwise the audit checks the key again.
 * - To check a reference, the audit reads the request record or list before its key record. The claim
 *   writes both in one commit, and a key record never drops an attempt. So a key record without the
 *   attempt is always a violation.
 */

export interface AuditReport {
  keys: number;
  attempts: number;
  violations: number;
  /** Completed keys without lists, and those whose request named another currency. Neither is a violation. */
  without_lists: number;
  other_currency: number;
  /** About the number of document reads that Firestore bills, without those of retries. */
  document_reads: number;
}

export interface AuditReporter {
  onViolation: (violation: Violation) => void;
  /** @param keys number of keys checked so far */
  onProgress: (keys: number) => void;
}

/** Maximum number of keys that are checked at once, because each holds a payload in memory. */
const CONCURRENT_KEYS = 4;

const RECHECK_PAUSE_MS = 500;

/** @param sampleSize maximum number of entries of each list to compare with the payload; Infinity for all */
export async function audit(
  db: Database,
  context: WorkContext,
  sampleSize: number,
  reporter: AuditReporter,
): Promise<AuditReport> {
  const auditor = new Auditor(db, context, sampleSize, reporter);
  await auditor.checkKeys();
  for (const collection of ATTEMPT_COLLECTIONS) await auditor.checkReferences(collection);
  await Promise.all(ATTEMPT_COLLECTIONS.map((collection) => auditor.checkParents(collection)));
  return auditor.getReport();
}

/** A key record, its stored due time, and when both were read, by Firestore's clock. */
interface StoredKey {
  record: KeyRecord;
  sweepDueAt: unknown;
  readAt: number;
}

class Auditor {
  readonly #reader: AttemptReader;
  /** Paths of the request records and lists that belong to checked attempts, or whose reference was checked. */
  readonly #known = new Set<string>();
  readonly #counts = { keys: 0, attempts: 0, violations: 0, without_lists: 0, other_currency: 0 };

  constructor(
    private readonly db: Database,
    private readonly context: WorkContext,
    sampleSize: number,
    private readonly reporter: AuditReporter,
  ) {
    this.#reader = new AttemptReader(db, context, sampleSize);
  }

  getReport(): AuditReport {
    return { ...this.#counts, document_reads: this.#reader.documentReads };
  }

  async checkKeys(): Promise<void> {
    await this.#forEachDocument(collections.priceListIdempotency, 'all', async (document) => {
      const [id, stored] = document;
      const key = parseKey(document);
      if (key === undefined) this.#reportUnreadable(id, stored);
      else await this.#checkKey(id, key).catch((error: unknown) => this.#reportUncheckable(id, key.record, error));
      this.#counts.keys += 1;
      this.reporter.onProgress(this.#counts.keys);
    });
  }

  /** Checks that every document of a collection belongs to an attempt of a key. */
  async checkReferences(collection: AttemptCollection): Promise<void> {
    await this.#forEachDocument(collection, ['status'], async ([id, { status }]) => {
      const ready = status === 'ready' ? 'is ready, but ' : '';
      const message = `${ready}belongs to no attempt of a key`;
      await this.#checkReference(collection, id, { path: `${collection}/${id}`, message });
    });
  }

  /** Checks that no entries or chunks are left of a deleted document. The earlier checks found all documents that exist. */
  async checkParents(collection: AttemptCollection): Promise<void> {
    for (let last = ''; ;) {
      const id = await this.#reader.read(() => findNextParent(this.db, collection, last), 1);
      if (id === undefined) return;
      const document = `${collection}/${id}`;
      const message = `has documents, but ${document} does not exist`;
      await this.#checkReference(collection, id, { path: `${document}/${SUBCOLLECTION_OF[collection]}`, message });
      last = id;
    }
  }

  async #checkReference(
    collection: AttemptCollection,
    id: string,
    violation: Pick<Violation, 'path' | 'message'>,
  ): Promise<void> {
    const document = `${collection}/${id}`;
    if (this.#known.has(document)) return;
    this.#known.add(document);
    // The document can belong to an attempt that was claimed after the audit read the keys.
    if (await this.#isReferredNow(collection, id)) return;
    this.#report({ rule: 'reference', boq_list_id: null, ...violation });
  }

  async #isReferredNow(collection: AttemptCollection, id: string): Promise<boolean> {
    const boqListIds = await this.#reader.read(() => findBoqListIds(this.db, id, ID_TYPE_OF[collection]), 1);
    for (const boqListId of boqListIds) {
      const stored = await this.#readKeyDocument(keyDocumentId(boqListId));
      const key = parseKey(stored);
      // A record that does not parse counts as a reference, because it is reported separately.
      const isReferred =
        key === undefined ? stored !== undefined : getReferences(key.record).includes(`${collection}/${id}`);
      if (isReferred) return true;
    }
    return false;
  }

  /** Checks a key. Repeats a check that found a violation, until the state is the same before and after it. */
  async #checkKey(id: string, given: StoredKey): Promise<void> {
    let key = given;
    for (;;) {
      const found = await this.#findViolations(key.record);
      if (found.length === 0 && this.#checkRecord(id, key).length === 0) break;
      const present = parseKey(await this.#readKeyDocument(id)) ?? key;
      if (isSameState(key.record, present.record)) {
        // A renewal or another due time does not change the state, so the record is checked as it is now.
        for (const violation of [...this.#checkRecord(id, present), ...found]) this.#report(violation);
        break;
      }
      key = present;
      await this.context.clock.sleep(RECHECK_PAUSE_MS, this.context.signal);
    }
    this.#counts.attempts += 1 + key.record.history.length;
    if (key.record.status === 'completed') {
      const { market_found, currency_differs } = getMarketFacts(key.record);
      if (!market_found) this.#counts.without_lists += 1;
      if (currency_differs) this.#counts.other_currency += 1;
    }
    for (const path of getReferences(key.record)) this.#known.add(path);
  }

  #checkRecord(id: string, { record, sweepDueAt, readAt }: StoredKey): Violation[] {
    return [
      ...checkKeyRecord(record, id),
      ...checkSweepDueAt(record, sweepDueAt),
      ...checkTimes(record, readAt),
      ...checkOverdue(record, sweepDueAt, readAt, id),
    ];
  }

  async #findViolations(record: KeyRecord): Promise<Violation[]> {
    const violations: Violation[] = [];
    for (const recorded of getAttemptsOfKey(record)) {
      violations.push(...checkAttempt(recorded, await this.#reader.readAttempt(recorded.attempt)));
    }
    return violations;
  }

  #readKeyDocument(id: string): Promise<StoredDocument | undefined> {
    return this.#reader.read(() => readKeyDocument(this.db, id), 1);
  }

  #reportUnreadable(id: string, { boq_list_id, schema_version }: Fields): void {
    const path = `${collections.priceListIdempotency}/${id}`;
    const version = typeof schema_version === 'number' ? ` of schema version ${schema_version}` : '';
    const key = typeof boq_list_id === 'string' ? boq_list_id : null;
    const message = `is not a valid key record${version}`;
    this.#report({ rule: 'key_readable', boq_list_id: key, path, message });
  }

  /** Reports a record whose values no call accepts, such as an id with a slash. @throws `error` if it has another cause */
  #reportUncheckable(id: string, { boq_list_id }: KeyRecord, error: unknown): void {
    if (!(error instanceof Error) || 'code' in error || this.context.signal.aborted) throw error;
    const path = `${collections.priceListIdempotency}/${id}`;
    this.#report({ rule: 'key_readable', boq_list_id, path, message: 'has values with which it cannot be checked' });
  }

  #report(violation: Violation): void {
    this.#counts.violations += 1;
    this.reporter.onViolation(violation);
  }

  /** Calls `fn` for each document of a collection, page by page, with several calls at once. */
  async #forEachDocument(
    collection: string,
    fields: readonly string[] | 'all',
    fn: (document: StoredDocument) => Promise<void>,
  ): Promise<void> {
    const read = (after: StoredDocument | undefined) =>
      this.#reader.read(() => readPage(this.db, collection, fields, after), 0);
    for await (const page of readPages(read, PAGE_SIZE)) {
      this.#reader.documentReads += Math.max(1, page.length);
      await forEachConcurrently(page, CONCURRENT_KEYS, fn);
    }
  }
}

/** @returns undefined if the document does not exist or is not a key record */
function parseKey(document: StoredDocument | undefined): StoredKey | undefined {
  if (document === undefined) return undefined;
  const [, stored, readAt] = document;
  const record = parseKeyRecord(stored);
  return record && { record, sweepDueAt: stored['sweep_due_at'], readAt };
}

/** Returns the paths of the request records and lists of a key. */
const getReferences = (record: KeyRecord): string[] =>
  getAttemptsOfKey(record).flatMap(({ attempt: { document_id, lists } }) => [
    `${collections.priceListRequests}/${document_id}`,
    ...(lists === null ? [] : LIST_KINDS.map((kind) => getListPath(kind, lists))),
  ]);

/** Returns whether two reads of a key record differ at most by renewals. */
function isSameState(before: KeyRecord, after: KeyRecord): boolean {
  const { lease_expires_at, progress } = after;
  return isDeepStrictEqual({ ...before, lease_expires_at, progress }, after);
}
