import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { asItIs, connected, within } from './connection';
import { DEADLINES, type Database } from './database';
import { outsideDomain } from './domain';
import { decodeDocument, type StoredDocument } from './wire';

/**
 * Queries, at a fifth of what the library's `Query` costs (docs/performance.md): a document is read straight from the
 * bytes of its message.
 *
 * The guarantees are those of `Query.stream`: documents come in the query's order, each once; after a transient error in
 * the middle, the query goes on behind the last document that came, and reads at the same moment as before.
 */

/** What to read of a collection. */
export interface Selection {
  collection: string;
  /** All of these hold. */
  where?: readonly Condition[];
  /** A field to order by, ascending; a document without it is left out. Equals, or all without it, go by their ids. */
  orderBy?: string;
  /** The fields to read. */
  fields: readonly string[];
}

export type Condition = readonly [field: string, operator: keyof typeof operators, value: string | number];

const operators = { '==': 'EQUAL', '>=': 'GREATER_THAN_OR_EQUAL', '<': 'LESS_THAN' } as const;

/** How many messages are handed on at a time: an asynchronous step for each of them would cost as much as all else. */
const GROUP = 128;

/** Bytes from which on fewer are handed on: a document may have a mebibyte. */
const GROUP_BYTES = 1024 * 1024;

/** The codes after which the library goes on with a query: deadline exceeded, resource exhausted, internal, unavailable. */
const transientCodes = new Set<unknown>([4, 8, 13, 14]);

const MAX_TRIES = 5;
const FIRST_DELAY_MS = 250;

/**
 * The documents of a selection, in groups as they arrive, at the pace at which they are taken. After a transient error
 * the query goes on; after the fifth without a document in between, it fails.
 *
 * @throws the reason of the database's signal as soon as that aborts
 */
export async function* select(db: Database, selection: Selection): AsyncGenerator<readonly StoredDocument[]> {
  const { client, documents, ...connection } = await connected();
  const { path, requestSerialize, responseDeserialize } = connection.method<Request, Response>('RunQuery');
  const headers = connection.headers(`parent=${encodeURIComponent(documents)}`);
  const parentBytes = Buffer.byteLength(`${documents}/${selection.collection}/`);
  let request = requestFor(documents, selection);
  for (let tries = 1; ; tries += 1) {
    db.signal.throwIfAborted();
    db.calls += 1;
    const call = outsideDomain(() =>
      client.makeServerStreamRequest(path, requestSerialize, asItIs, request, headers, within(DEADLINES.query)),
    );
    const cancel = () => call.cancel();
    db.signal.addEventListener('abort', cancel);
    let last: Buffer | undefined;
    try {
      for await (const messages of arrivals(call)) {
        const found: StoredDocument[] = [];
        for (const message of messages) {
          const document = decodeDocument(message, parentBytes);
          if (document === undefined) continue;
          found.push(document);
          last = message;
        }
        db.documents += found.length;
        if (found.length > 0) yield found;
      }
      return;
    } catch (error) {
      db.signal.throwIfAborted();
      if (last !== undefined) {
        tries = 0;
        request = resumed(request, responseDeserialize(last));
      }
      if (tries === MAX_TRIES || !isTransient(error)) throw error;
    } finally {
      db.signal.removeEventListener('abort', cancel);
      cancel();
    }
    await sleep(FIRST_DELAY_MS * 2 ** tries * Math.random(), undefined, { signal: db.signal });
  }
}

/** The messages of a call in groups, read at the pace at which these are taken. @throws the call's error, after the last */
async function* arrivals(call: ClientReadableStream<Buffer>): AsyncGenerator<readonly Buffer[]> {
  let messages: Buffer[] = [];
  let bytes = 0;
  const end: { reached: boolean; error?: Error } = { reached: false };
  let wake: () => void = () => undefined;
  const arrive = (message: Buffer) => {
    bytes += message.length;
    if (messages.push(message) < GROUP && bytes < GROUP_BYTES) return;
    call.pause();
    wake();
  };
  outsideDomain(() => call.on('data', arrive));
  call.on('end', () => {
    end.reached = true;
    wake();
  });
  // Also of a call that is cancelled because nobody reads on: with no listener, its error would end the process.
  call.on('error', (error) => {
    end.reached = true;
    end.error = error;
    wake();
  });
  while (!end.reached) {
    if (!call.isPaused()) await new Promise<void>((resolve) => (wake = resolve));
    const arrived = messages;
    messages = [];
    bytes = 0;
    if (arrived.length > 0) yield arrived;
    outsideDomain(() => call.resume());
  }
  if (end.error !== undefined) throw end.error;
}

/** A `google.firestore.v1.RunQueryRequest`. */
interface Request {
  parent: string;
  structuredQuery: {
    from: [{ collectionId: string }];
    where?: object;
    orderBy: { field: Field; direction: 'ASCENDING' }[];
    select: { fields: Field[] };
    startAt?: { values: unknown[]; before: boolean };
  };
  readTime?: unknown;
}

/** A `google.firestore.v1.RunQueryResponse` with a document. */
interface Response {
  document: { name: string; fields: Readonly<Record<string, unknown>> };
  readTime: unknown;
}

interface Field {
  fieldPath: string;
}

const field = (fieldPath: string): Field => ({ fieldPath });

/** A document's name, in an order or a cursor. */
const NAME = '__name__';

function requestFor(parent: string, { collection, where = [], orderBy, fields }: Selection): Request {
  const filters = where.map(([path, operator, value]) => ({
    fieldFilter: { field: field(path), op: operators[operator], value: encoded(value) },
  }));
  const order = orderBy === undefined ? [NAME] : [orderBy, NAME];
  return {
    parent,
    structuredQuery: {
      from: [{ collectionId: collection }],
      ...(filters.length > 0 && { where: { compositeFilter: { op: 'AND', filters } } }),
      orderBy: order.map((path) => ({ field: field(path), direction: 'ASCENDING' })),
      // To go on behind a document, what it is ordered by must be known of it.
      select: { fields: (orderBy === undefined ? fields : [...fields, orderBy]).map(field) },
    },
  };
}

const encoded = (value: string | number): object =>
  typeof value === 'string' ? { stringValue: value } : { integerValue: String(value) };

/** The request for what comes after the document of a response, as it was when that was read. */
function resumed({ parent, structuredQuery }: Request, { document, readTime }: Response): Request {
  const values = structuredQuery.orderBy.map(({ field: { fieldPath } }) =>
    fieldPath === NAME ? { referenceValue: document.name } : document.fields[fieldPath],
  );
  return { parent, structuredQuery: { ...structuredQuery, startAt: { values, before: false } }, readTime };
}

const isTransient = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && transientCodes.has(error.code);
