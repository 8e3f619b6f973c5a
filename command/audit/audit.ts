import { isDeepStrictEqual } from 'node:util';
import type { DocumentSnapshot, Query, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { isDocumentId } from '../../functions/src/lib/document-id';
import { collections } from '../../functions/src/lib/firestore/collections';
import type { Database } from '../../functions/src/lib/firestore/database';
import { keyDocument, keyRecords, readKey, toKeySnapshot } from '../../functions/src/lib/repositories/keys';
import { LIST_KINDS, LIST_COLLECTIONS, type ListKind } from '../../functions/src/lib/repositories/lists';
import type { KeyRecord } from '../../functions/src/lib/schemas/key-record';
import type { WorkContext } from '../../functions/src/lib/work-context';
import { UnusablePayloadError } from '../../functions/src/price-lists/payload';
import {
  ATTEMPT_COLLECTIONS,
  findNextParent,
  findRequests,
  isReadable,
  SUBCOLLECTION_OF,
  type AttemptCollection,
  type ReadableKey,
} from '../records/find';
import { billPage, readPages } from '../records/pages';
import { checkAttempt, checkReleasedRequest, getListPath, type AttemptDocuments } from './attempt';
import { AttemptReader } from './attempt-reader';
import { LIST_STATUS } from './expected';
import { checkKey } from './key-record';
import { createReporter, type Violation } from './violation';

/**
 * The audit checks the records of add price lists and reports violations of the rules in violation.ts. It writes
 * nothing, and can run during creations, resumes and sweeps. Each reported violation existed at one moment:
 *
 * - The audit reads a key record before the records of its attempt, and again before it reports a violation. The
 *   checked records are written in one commit with the key record, or are complete before that commit. So if both
 *   reads show the same state, the violation existed between them. Otherwise the audit checks the key again, unless its
 *   record can no longer be read.
 * - The audit reads a request record and its key record in one call. The key record names the request record, unless the
 *   attempt was released. No event changes the request record or the lists of a released attempt.
 */

export interface AuditReport {
  keys: number;
  attempts: number;
  violations: number;
  /**
   * The number of completed keys without lists, and of completed keys whose lists have a different currency from the
   * request's. Neither is a violation.
   */
  without_lists: number;
  other_currency: number;
  /** The number of current attempts that have lists but no usable payload, so their entries are only counted. */
  not_compared: number;
  /** Approximate number of document reads that Firestore bills, without those of retries. */
  document_reads: number;
}

/** Maximum number of keys, requests or lists to check at once, because the check of a key or request holds a payload in memory. */
const CONCURRENT_KEYS = 4;

const RECHECK_PAUSE_MS = 500;

/**
 * @param sampleSize maximum number of entries of each list to compare with the payload; Infinity for all
 * @param onViolation called with each violation as it is found
 * @param onRead called repeatedly with the number of document reads so far
 */
export async function audit(
  db: Database,
  context: WorkContext,
  sampleSize: number,
  onViolation: (violation: Violation) => void,
  onRead: (documentReads: number) => void = () => undefined,
): Promise<AuditReport> {
  const auditor = new Auditor(db, context, sampleSize, onViolation, onRead);
  await auditor.checkKeys();
  await auditor.checkRequests();
  for (const kind of LIST_KINDS) await auditor.checkLists(kind);
  await Promise.all(ATTEMPT_COLLECTIONS.map((collection) => auditor.checkParents(collection)));
  return auditor.getReport();
}

class Auditor {
  readonly #reader: AttemptReader;
  /** Paths of the request records of checked attempts, and of the lists that the audit has read or reported. */
  readonly #known = new Set<string>();
  readonly #counts = { keys: 0, attempts: 0, violations: 0, without_lists: 0, other_currency: 0, not_compared: 0 };

  constructor(
    private readonly db: Database,
    private readonly context: WorkContext,
    sampleSize: number,
    private readonly onViolation: (violation: Violation) => void,
    onRead: (documentReads: number) => void,
  ) {
    this.#reader = new AttemptReader(db, context, sampleSize, onRead);
  }

  getReport(): AuditReport {
    return { ...this.#counts, document_reads: this.#reader.documentReads };
  }

  async checkKeys(): Promise<void> {
    await this.#forEachDocument(keyRecords(this.db), async (document) => {
      const key = toKeySnapshot(document);
      if (isReadable(key)) await this.#checkKey(key);
      else this.#reportUnreadable(document);
      this.#counts.keys += 1;
    });
  }

  /** Checks that every request record belongs to the current attempt of a key, or to an earlier one that was released, unless the key record is unreadable. Checks the records of the earlier attempts. */
  async checkRequests(): Promise<void> {
    await this.#forEachDocument(this.db.firestore.collection(collections.priceListRequests), async (request) => {
      const { path } = request.ref;
      if (this.#known.has(path)) return;
      const attempt = await this.#readAttempt(request);
      if (attempt === 'none') {
        const message = 'belongs to no current or released attempt of a key';
        this.#report(createReporter(null, path)('reference', message));
      } else if (attempt === 'released') await this.#checkReleased(request);
    });
  }

  /** Checks the request record, the payload and the lists of an attempt that was released before its key was claimed again. Its lists, if it has any, must be `failed`. */
  async #checkReleased(request: QueryDocumentSnapshot): Promise<void> {
    this.#counts.attempts += 1;
    this.#known.add(request.ref.path);
    const attempt = { document_id: request.id, fingerprint: String(request.get('fingerprint')) };
    const payload = await this.#reader.readPayload(attempt, request.get('payload_chunks'));
    for (const violation of checkReleasedRequest(request.id, request.data(), payload)) this.#report(violation);
    for (const kind of LIST_KINDS) {
      const id: unknown = request.get(`${kind}_id`);
      if (id === null) continue;
      const key = String(request.get('info.boq_list_id'));
      if (typeof id !== 'string' || !isDocumentId(id)) {
        this.#report(createReporter(key, request.ref.path)('request', `has wrong or missing fields: ${kind}_id`));
        continue;
      }
      const list = this.db.firestore.collection(LIST_COLLECTIONS[kind]).doc(id);
      this.#known.add(list.path);
      const [document] = await this.#reader.read(() => this.db.getAll(list), 1);
      const report = createReporter(key, list.path);
      if (!document.exists) this.#report(report('list_document', 'does not exist'));
      else if (document.get('status') !== LIST_STATUS.released)
        this.#report(report('list_status', 'is not failed, but its attempt is released'));
    }
  }

  /** Checks that every list belongs to an attempt. Skips a list whose key record is unreadable. */
  async checkLists(kind: ListKind): Promise<void> {
    const lists = this.db.firestore.collection(LIST_COLLECTIONS[kind]).select('status');
    await this.#forEachDocument(lists, async (list) => {
      const { path } = list.ref;
      if (this.#known.has(path)) return;
      this.#known.add(path);
      // The list may belong to an attempt that was claimed after the audit had read the keys.
      for (const request of await this.#reader.read(() => findRequests(this.db, list.id, `${kind}_id`), 1)) {
        const attempt = await this.#readAttempt(request);
        if (attempt === 'unknown') return;
        if (attempt === 'released' || (attempt !== 'none' && attempt.lists?.[`${kind}_id`] === list.id)) return;
      }
      const ready = list.get('status') === 'ready' ? 'is ready, but ' : '';
      this.#report(createReporter(null, path)('reference', `${ready}belongs to no attempt of a key`));
    });
  }

  /** Reports entries and payload chunks whose parent document does not exist. */
  async checkParents(collection: AttemptCollection): Promise<void> {
    for (let last = ''; ;) {
      const id = await this.#reader.read(() => findNextParent(this.db, collection, last), 1);
      if (id === undefined) return;
      last = id;
      const reference = this.db.firestore.collection(collection).doc(id);
      if (this.#known.has(reference.path)) continue;
      const [document] = await this.#reader.read(() => this.db.getAll(reference), 1);
      if (document.exists) continue;
      const report = createReporter(null, `${reference.path}/${SUBCOLLECTION_OF[collection]}`);
      this.#report(report('reference', `has documents, but ${reference.path} does not exist`));
    }
  }

  /**
   * Returns the key record if the request began the key's current attempt. Otherwise returns `released` for an earlier
   * attempt that was released, `none` for no attempt, and `unknown` if the key record is unreadable.
   */
  async #readAttempt(found: DocumentSnapshot): Promise<KeyRecord | 'released' | 'none' | 'unknown'> {
    const boqListId: unknown = found.get('info.boq_list_id');
    if (typeof boqListId !== 'string') return 'none';
    const both = [found.ref, keyDocument(this.db, boqListId)] as const;
    const [request, document] = await this.#reader.read(() => this.db.getAll(...both), both.length);
    const { record } = toKeySnapshot(document);
    // `checkKeys` reports an unreadable key record.
    if (record === 'unreadable') return 'unknown';
    if (record?.document_id === request.id) return record;
    return record !== undefined && request.get('released') !== undefined ? 'released' : 'none';
  }

  /**
   * Checks a key. Repeats a check that found a violation, until the key has the same state before and after the check, or
   * its record can no longer be read.
   */
  async #checkKey(given: ReadableKey): Promise<void> {
    for (let key = given; ;) {
      const documents = await this.#reader.readAttempt(key.record);
      const violations = checkAttempt(key.record, documents);
      const isValid = violations.length === 0 && checkKey(key).length === 0;
      const read = isValid ? key : await this.#reader.read(() => readKey(this.db, key.reference), 1);
      const current = isReadable(read) ? read : key;
      if (isSameState(key.record, current.record)) {
        // A renewal or a change of the due time does not change the state, so the record is checked as it is now.
        for (const violation of [...checkKey(current), ...violations]) this.#report(violation);
        this.#count(key.record, documents);
        return;
      }
      key = current;
      await this.context.clock.sleep(RECHECK_PAUSE_MS, this.context.signal);
    }
  }

  #count({ document_id, status, lists }: KeyRecord, { payload }: AttemptDocuments): void {
    this.#known.add(`${collections.priceListRequests}/${document_id}`);
    this.#counts.attempts += 1;
    if (lists !== null) {
      for (const kind of LIST_KINDS) this.#known.add(getListPath(kind, lists));
      if (payload instanceof UnusablePayloadError) this.#counts.not_compared += 1;
    }
    if (status !== 'completed') return;
    if (lists === null) this.#counts.without_lists += 1;
    else if (lists.currency_differs) this.#counts.other_currency += 1;
  }

  #reportUnreadable(document: QueryDocumentSnapshot): void {
    const { boq_list_id, schema_version } = document.data();
    const version = typeof schema_version === 'number' ? ` (schema_version ${schema_version})` : '';
    const report = createReporter(typeof boq_list_id === 'string' ? boq_list_id : null, document.ref.path);
    this.#report(report('key_readable', `cannot be read as a key record${version}`));
  }

  #report(violation: Violation): void {
    this.#counts.violations += 1;
    this.onViolation(violation);
  }

  /** Calls `fn` for each document of a query, page by page in order of id, and for several documents at once. */
  async #forEachDocument(query: Query, fn: (document: QueryDocumentSnapshot) => Promise<void>): Promise<void> {
    for await (const page of readPages(this.db, this.context, query.orderBy('__name__'))) {
      this.#reader.documentReads += billPage(page);
      for (let i = 0; i < page.length; i += CONCURRENT_KEYS)
        await Promise.all(page.slice(i, i + CONCURRENT_KEYS).map(fn));
    }
  }
}

/** Returns whether two reads of a key record differ at most in the lease and the due time. */
function isSameState(before: KeyRecord, after: KeyRecord): boolean {
  const { lease_expires_at } = after;
  return isDeepStrictEqual({ ...before, lease_expires_at }, after);
}
