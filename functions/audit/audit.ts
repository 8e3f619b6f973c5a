import type { RequestContext } from '../src/lib/request-context';
import { forEachConcurrently } from '../src/lib/concurrency';
import { collections } from '../src/lib/firestore/collections';
import type { Database } from '../src/lib/firestore/database';
import { keyDocumentId, LIST_KINDS } from '../src/lib/repositories/price-lists';
import { findBoqListIds, readKeyFields, readPage, ATTEMPT_COLLECTIONS, type Fields } from './stored-records';
import { keyRecordSchema, type KeyRecord } from '../src/lib/schemas/key-record';
import {
  checkAttempt,
  checkKeyRecord,
  checkLease,
  checkSweepDueAt,
  getRecordedAttempts,
  type Violation,
} from './invariants';
import { StoredAttemptReader } from './attempt-reader';

/**
 * The audit: reads every record of add price lists, and reports where an invariant (invariants.ts) does not hold. Writes nothing.
 *
 * It may run beside creations, resumes and sweeps, and reports only what was true at one moment:
 *
 * - A key record is read before the records of its attempts, and again before a violation is reported. Everything that an
 *   invariant asks for is either written in one commit with the key record, or fixed and complete before that commit. So
 *   if both reads show the same state, no other state lay between them, and the violation was true then. Otherwise the
 *   key is checked again in its present state.
 * - A request record or a list is read before its key record is looked up. The claim writes all three in one commit, and
 *   no key record ever drops an attempt. So a key record without it is a violation whenever it is read.
 */

export interface AuditOptions {
  /** Entries of each list that are compared with the payload; Infinity: all. */
  sampleSize: number;
  /** Keys that are checked at once. Each holds a payload in memory. */
  concurrency: number;
}

export interface AuditReport {
  keys: number;
  attempts: number;
  violations: number;
  /** Keys that changed at every check. */
  unsettled: number;
  /** Documents that were read, as Firestore bills them; retries are left out. */
  document_reads: number;
}

export interface AuditReporter {
  onViolation: (violation: Violation) => void;
  /** A key changed at every check, and is left out. */
  onUnsettled: (record: KeyRecord) => void;
  /** @param keys checked so far */
  onProgress: (keys: number) => void;
}

const PAGE_SIZE = 300;

const MAX_CHECKS = 5;
const RECHECK_PAUSE_MS = 500;

/** Runs one audit. */
export async function audit(
  db: Database,
  context: RequestContext,
  options: AuditOptions,
  reporter: AuditReporter,
): Promise<AuditReport> {
  const auditor = new Auditor(db, context, options, reporter);
  await auditor.checkKeys();
  for (const collection of ATTEMPT_COLLECTIONS) await auditor.checkReferences(collection);
  return auditor.getReport();
}

class Auditor {
  readonly #reader: StoredAttemptReader;
  /** Ids of the request records and lists of every attempt that was checked. */
  readonly #referred = new Set<string>();
  readonly #counts = { keys: 0, attempts: 0, violations: 0, unsettled: 0 };

  constructor(
    private readonly db: Database,
    private readonly context: RequestContext,
    private readonly options: AuditOptions,
    private readonly reporter: AuditReporter,
  ) {
    this.#reader = new StoredAttemptReader(db, context, options.sampleSize);
  }

  getReport(): AuditReport {
    return { ...this.#counts, document_reads: this.#reader.documentReads };
  }

  async checkKeys(): Promise<void> {
    await this.#forEachDocument(collections.priceListIdempotency, 'all', async (id, stored) => {
      const parsed = keyRecordSchema.safeParse(stored);
      if (parsed.success) await this.#checkKey(id, { record: parsed.data, sweepDueAt: stored['sweep_due_at'] });
      else this.#reportUnreadable(id, stored);
      this.#counts.keys += 1;
      this.reporter.onProgress(this.#counts.keys);
    });
  }

  /** Checks that every document of a collection belongs to an attempt of a key. */
  async checkReferences(collection: string): Promise<void> {
    await this.#forEachDocument(collection, ['status'], async (id, { status }) => {
      // Of an attempt that was claimed after its key was due, or of none.
      if (this.#referred.has(id) || (await this.#isReferredNow(id))) return;
      const what =
        status === 'ready' ? 'is ready, but belongs to no attempt of a key' : 'belongs to no attempt of a key';
      this.#report({ rule: 'reference', boq_list_id: null, path: `${collection}/${id}`, message: what });
    });
  }

  async #isReferredNow(id: string): Promise<boolean> {
    const keys = await this.#reader.read(() => findBoqListIds(this.db, id), 4);
    for (const key of keys) {
      const stored = await this.#reader.read(() => readKeyFields(this.db, keyDocumentId(key)), 1);
      const parsed = keyRecordSchema.safeParse(stored);
      // One that cannot be read is reported as such.
      if (stored !== undefined && (!parsed.success || getReferredIds(parsed.data).includes(id))) return true;
    }
    return false;
  }

  async #checkKey(id: string, given: StoredKey): Promise<void> {
    let key = given;
    for (let checks = 1; ; checks += 1) {
      const violations = await this.#findViolations(id, key);
      if (violations.length === 0) break;
      const stored = await this.#reader.read(() => readKeyFields(this.db, id), 1);
      const parsed = keyRecordSchema.safeParse(stored);
      const present = parsed.success ? { record: parsed.data, sweepDueAt: stored?.['sweep_due_at'] } : key;
      if (isSameState(key.record, present.record)) {
        for (const violation of violations) if (this.#isConfirmed(violation, present)) this.#report(violation);
        break;
      }
      if (checks === MAX_CHECKS) {
        this.#counts.unsettled += 1;
        this.reporter.onUnsettled(key.record);
        break;
      }
      key = present;
      await this.context.clock.sleep(RECHECK_PAUSE_MS, this.context.signal);
    }
    this.#counts.attempts += 1 + key.record.history.length;
    for (const referred of getReferredIds(key.record)) this.#referred.add(referred);
  }

  async #findViolations(id: string, { record, sweepDueAt }: StoredKey): Promise<Violation[]> {
    const violations = [
      ...checkKeyRecord(record, id),
      ...checkSweepDueAt(record, sweepDueAt),
      ...checkLease(record, this.context.clock.now()),
    ];
    for (const recorded of getRecordedAttempts(record)) {
      violations.push(...checkAttempt(recorded, await this.#reader.readAttempt(recorded.attempt)));
    }
    return violations;
  }

  /** A renewal, and a sweep that corrects when it is due, make no other state of the key. */
  #isConfirmed({ rule }: Violation, { record, sweepDueAt }: StoredKey): boolean {
    if (rule === 'lease') return checkLease(record, this.context.clock.now()).length > 0;
    return rule !== 'sweep_due_at' || checkSweepDueAt(record, sweepDueAt).length > 0;
  }

  #reportUnreadable(id: string, { boq_list_id, schema_version }: Fields): void {
    const path = `${collections.priceListIdempotency}/${id}`;
    const version = typeof schema_version === 'number' ? ` of schema version ${schema_version}` : '';
    const key = typeof boq_list_id === 'string' ? boq_list_id : null;
    this.#report({ rule: 'key_readable', boq_list_id: key, path, message: `is no key record${version} that is known` });
  }

  #report(violation: Violation): void {
    this.#counts.violations += 1;
    this.reporter.onViolation(violation);
  }

  /** Calls `fn` for each document of a collection, several at once, page by page. */
  async #forEachDocument(
    collection: string,
    fields: readonly string[] | 'all',
    fn: (id: string, stored: Fields) => Promise<void>,
  ): Promise<void> {
    const readNext = (after: string | null): Promise<[id: string, stored: Fields][]> =>
      this.#reader.read(() => readPage(this.db, collection, fields, after, PAGE_SIZE), 0);
    let page = await readNext(null);
    for (;;) {
      this.#reader.documentReads += Math.max(1, page.length);
      await forEachConcurrently(page, this.options.concurrency, ([id, stored]) => fn(id, stored));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_SIZE) return;
      page = await readNext(last[0]);
    }
  }
}

/** A key record, and when the sweep is to look at it. */
interface StoredKey {
  record: KeyRecord;
  sweepDueAt: unknown;
}

const getReferredIds = (record: KeyRecord): string[] =>
  getRecordedAttempts(record).flatMap(({ attempt: { document_id, creation } }) =>
    creation === null ? [document_id] : [document_id, ...LIST_KINDS.map((kind) => creation[`${kind}_id`])],
  );

/** Whether nothing but renewals lies between two reads of a key record. */
function isSameState(before: KeyRecord, after: KeyRecord): boolean {
  const { lease_expires_at, progress } = after;
  // Parsed records have their fields in one order.
  return JSON.stringify({ ...before, lease_expires_at, progress }) === JSON.stringify(after);
}
