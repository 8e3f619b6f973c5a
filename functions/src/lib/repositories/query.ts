import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { asItIs, connected, deadlineIn, DEADLINES, pathOf } from './connection';
import { outsideDomain } from './domain';
import { bytesField, integerField } from './encoding';
import type { Usage } from './usage';
import { decodeDocument, decodePosition, type Position, type StoredDocument } from './wire';

/**
 * Queries, at a quarter of what the library's `Query` costs (docs/performance.md): a document is read straight from the
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

/** With their numbers in Firestore's `StructuredQuery.FieldFilter.Operator`. */
const operators = { '<': 1, '>=': 4, '==': 5 } as const;

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
 * @throws the reason of the usage's signal as soon as that aborts
 */
export async function* select(usage: Usage, selection: Selection): AsyncGenerator<readonly StoredDocument[]> {
  const { client, documents, headers } = await connected();
  const resource = headers(`parent=${encodeURIComponent(documents)}`);
  const parentBytes = Buffer.byteLength(`${documents}/${selection.collection}/`);
  let request = requestFor(documents, selection);
  for (let tries = 1; ; tries += 1) {
    usage.signal.throwIfAborted();
    usage.calls += 1;
    const call = outsideDomain(() =>
      client.makeServerStreamRequest(
        pathOf('RunQuery'),
        asItIs,
        asItIs,
        request,
        resource,
        deadlineIn(DEADLINES.query),
      ),
    );
    const cancel = () => call.cancel();
    usage.signal.addEventListener('abort', cancel);
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
        usage.documents += found.length;
        if (found.length > 0) yield found;
      }
      return;
    } catch (error) {
      usage.signal.throwIfAborted();
      if (last !== undefined) {
        tries = 0;
        request = requestFor(documents, selection, decodePosition(last, selection.orderBy));
      }
      if (tries === MAX_TRIES || !isTransient(error)) throw error;
    } finally {
      usage.signal.removeEventListener('abort', cancel);
      cancel();
    }
    await sleep(FIRST_DELAY_MS * 2 ** tries * Math.random(), undefined, { signal: usage.signal });
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

/** A document's name, in an order or a cursor. */
const NAME = '__name__';

/** The numbers of the fields that are written (Google's firestore.proto, query.proto, document.proto). */
const REQUEST = { parent: 1, query: 2, readTime: 7 } as const;
const QUERY = { select: 1, from: 2, where: 3, orderBy: 4, startAt: 7 } as const;
const FILTER = { composite: 1, field: 2 } as const;
const COMPOSITE = { operator: 1, filters: 2, and: 1 } as const;
const CONDITION = { field: 1, operator: 2, value: 3 } as const;
const ORDER = { field: 1, direction: 2, ascending: 1 } as const;
const COLLECTION = { id: 2 } as const;
const PROJECTION = { fields: 2 } as const;
const FIELD = { path: 2 } as const;
const CURSOR = { values: 1 } as const;
const VALUE = { integer: 2, reference: 5, string: 17 } as const;

/** The bytes of a `google.firestore.v1.RunQueryRequest`: for all of a selection, or for what comes after a position. */
function requestFor(
  parent: string,
  { collection, where = [], orderBy, fields }: Selection,
  position?: Position,
): Buffer {
  const order = orderBy === undefined ? [NAME] : [orderBy, NAME];
  // To go on behind a document, what it is ordered by must be known of it.
  const read = orderBy === undefined ? fields : [...fields, orderBy];
  const query = [
    bytesField(QUERY.select, ...read.map((path) => field(PROJECTION.fields, path))),
    bytesField(QUERY.from, bytesField(COLLECTION.id, collection)),
    ...(where.length === 0 ? [] : [bytesField(QUERY.where, conjunction(where))]),
    ...order.map((path) =>
      bytesField(QUERY.orderBy, field(ORDER.field, path), integerField(ORDER.direction, ORDER.ascending)),
    ),
    ...(position === undefined ? [] : [bytesField(QUERY.startAt, ...valuesOf(position))]),
  ];
  const readTime = position === undefined ? [] : [bytesField(REQUEST.readTime, position.readTime)];
  return Buffer.concat([bytesField(REQUEST.parent, parent), bytesField(REQUEST.query, ...query), ...readTime]);
}

const field = (number: number, path: string): Buffer => bytesField(number, bytesField(FIELD.path, path));

function conjunction(conditions: readonly Condition[]): Buffer {
  const filters = conditions.map(([path, operator, value]) =>
    bytesField(
      COMPOSITE.filters,
      bytesField(
        FILTER.field,
        field(CONDITION.field, path),
        integerField(CONDITION.operator, operators[operator]),
        bytesField(CONDITION.value, encoded(value)),
      ),
    ),
  );
  return bytesField(FILTER.composite, integerField(COMPOSITE.operator, COMPOSITE.and), ...filters);
}

const encoded = (value: string | number): Buffer =>
  typeof value === 'string' ? bytesField(VALUE.string, value) : integerField(VALUE.integer, value);

/** Behind the document of a position: what it is ordered by as it was sent, and its name. */
const valuesOf = ({ orderedBy, name }: Position): Buffer[] => [
  ...(orderedBy === undefined ? [] : [bytesField(CURSOR.values, orderedBy)]),
  bytesField(CURSOR.values, bytesField(VALUE.reference, name)),
];

const isTransient = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && transientCodes.has(error.code);
