import { collections } from '../src/lib/firestore/collections';
import type { Database } from '../src/lib/firestore/database';
import { decodeDocument, type FieldFilter, type StoredFields } from '../src/lib/firestore/messages';
import { decodeNumber } from '../src/lib/firestore/price-entries';
import { retry } from '../src/lib/firestore/retry';
import { toText } from '../src/lib/repositories/organisation';
import { keyDocument } from '../src/lib/repositories/price-lists';
import type { WorkContext } from '../src/lib/work-context';
import { KEY_STATUSES, type KeyRecord } from '../src/lib/schemas/key-record';

/** Reads accepted requests with their outcome, newest first, for the report of the operator's command. */

/** An accepted request. A field is null if the records lack it. Times are Unix milliseconds. */
export interface RequestRow {
  created_at: number;
  boq_list_id: string | null;
  name: string | null;
  /** MM/YYYY. */
  month: string | null;
  market_id: string | null;
  /** The name of the API key. */
  sender: string | null;
  currency_sent: string | null;
  /** The currency of the lists; null without a market. */
  currency_stored: string | null;
  products: number | null;
  status: KeyRecord['status'] | null;
  failure_cause: string | null;
  expected_forward_cost_id: string | null;
  price_list_id: string | null;
  document_id: string;
}

/** What a key record says about one of its attempts. */
type Outcome = Pick<RequestRow, 'status' | 'failure_cause' | 'currency_stored'>;

type AcceptedRequest = Omit<RequestRow, keyof Outcome>;

/** `from` is inclusive and `to` exclusive, in Unix milliseconds; undefined for no limit. */
interface TimeRange {
  from: number | undefined;
  to: number | undefined;
}

/**
 * Yields requests in parts, newest first. Each request costs two document reads.
 *
 * A claim gives its request record and its key record the same time. So two queries in the order of this time,
 * one for each collection, find both records of an attempt at about the same moment, and memory holds few records.
 */
export async function* readRequests(
  db: Database,
  context: WorkContext,
  range: TimeRange,
): AsyncGenerator<RequestRow[]> {
  const outcomes = new OutcomeReader(db, context, range);
  const query = { ...createQuery(collections.priceListRequests, 'created_at', range), fields: REQUEST_FIELDS };
  for await (const requests of db.streamQuery(query, decodeRequest)) {
    const rows: RequestRow[] = [];
    for (const [, request] of requests) rows.push({ ...request, ...(await outcomes.read(request)) });
    yield rows;
  }
}

const createQuery = (collection: string, time: string, { from, to }: TimeRange) => {
  const where: FieldFilter[] = [];
  if (from !== undefined) where.push([time, '>=', from]);
  if (to !== undefined) where.push([time, '<', to]);
  return { collection, where, orderBy: [time], direction: 'DESCENDING' as const };
};

const REQUEST_FIELDS = [
  'info',
  'market_id',
  'key_id',
  'products_count',
  'expected_forward_cost_id',
  'price_list_id',
] as const;

function decodeRequest(response: Buffer): [id: string, AcceptedRequest] | undefined {
  const document = decodeDocument(response);
  if (document === undefined) return undefined;
  const { id, fields } = document;
  const info = toFields(fields['info']);
  const request: AcceptedRequest = {
    created_at: decodeNumber(response, 'created_at')?.[1] ?? 0,
    boq_list_id: toText(info['boq_list_id']),
    name: toText(info['name']),
    month: toText(info['date']),
    market_id: toText(fields['market_id']),
    sender: toText(fields['key_id']),
    currency_sent: toText(info['currency_iso']),
    products: decodeNumber(response, 'products_count')?.[1] ?? null,
    expected_forward_cost_id: toText(fields['expected_forward_cost_id']),
    price_list_id: toText(fields['price_list_id']),
    document_id: id,
  };
  return [id, request];
}

const KEY_FIELDS = ['status', 'failure_cause', 'document_id', 'lists.currency', 'history'];

/** Reads the outcomes of requests, if {@link read} gets the requests newest first. */
class OutcomeReader {
  readonly #keys: AsyncIterator<[id: string, { claimedAt: number; key: StoredFields }][], unknown>;
  /** By the ids of request records. A key that was claimed several times has several outcomes. */
  readonly #outcomes = new Map<unknown, Outcome>();
  /** The `claimed_at` of the last key that was read. */
  #claimedAt = Infinity;

  constructor(
    private readonly db: Database,
    private readonly context: WorkContext,
    range: TimeRange,
  ) {
    const query = { ...createQuery(collections.priceListIdempotency, 'claimed_at', range), fields: KEY_FIELDS };
    this.#keys = db.streamQuery(query, (response) => {
      const document = decodeDocument(response);
      const [, claimedAt = 0] = decodeNumber(response, 'claimed_at') ?? [];
      return document && [document.id, { claimedAt, key: document.fields }];
    });
  }

  async read({ document_id, created_at, boq_list_id }: AcceptedRequest): Promise<Outcome> {
    while (this.#claimedAt >= created_at) {
      const next = await this.#keys.next();
      if (next.done === true) break;
      for (const [, { claimedAt, key }] of next.value) {
        for (const [id, outcome] of getOutcomes(key)) this.#outcomes.set(id, outcome);
        this.#claimedAt = claimedAt;
      }
    }
    const outcome = this.#outcomes.get(document_id) ?? (await this.#readOutcome(document_id, boq_list_id));
    this.#outcomes.delete(document_id);
    return outcome;
  }

  /** Reads an outcome that the query does not find, such as that of a key that was claimed again after the time range. */
  async #readOutcome(document_id: string, boq_list_id: string | null): Promise<Outcome> {
    const read = () => this.db.getAll(keyDocument(this.db, boq_list_id ?? ''));
    const [key] = await retry(read, this.context, 'outage');
    const unknown = { status: null, failure_cause: null, currency_stored: null };
    return getOutcomes(key.data() ?? {}).get(document_id) ?? unknown;
  }
}

/** Returns the outcomes of the current attempt of a key and of the released ones, by the ids of their request records. */
function getOutcomes(key: StoredFields): Map<unknown, Outcome> {
  const status = KEY_STATUSES.find((each) => each === key['status']) ?? null;
  const failure_cause = status === 'requires_review' ? toText(key['failure_cause']) : null;
  const released = { status: 'released', failure_cause: null } as const;
  const history = Array.isArray(key['history']) ? (key['history'] as unknown[]).map(toFields) : [];
  const toEntry = (attempt: StoredFields, outcome: Omit<Outcome, 'currency_stored'>) =>
    [attempt['document_id'], { ...outcome, currency_stored: toText(toFields(attempt['lists'])['currency']) }] as const;
  return new Map([toEntry(key, { status, failure_cause }), ...history.map((attempt) => toEntry(attempt, released))]);
}

const toFields = (value: unknown): StoredFields =>
  typeof value === 'object' && value !== null ? (value as StoredFields) : {};
