import type { ClientReadableStream } from '@grpc/grpc-js';
import type { CallContext } from '../call-context';
import { systemClock } from '../clock';
import { CALL_TIMEOUTS_MS, callOptions, getConnection, identity, methodPath, type GrpcConnection } from './connection';
import { encodeBytesField, encodeIntegerField } from './encoding';
import { runOutsideDomain } from './node-domain';
import { Backoff, isTransient, type RetryOptions } from './retry';
import { decodeDocument, decodeCursor, type QueryCursor, type StoredDocument } from './wire';

/**
 * Queries, at a quarter of what the library's `Query` costs (docs/performance.md): a document is read straight from the
 * bytes of its message.
 *
 * The guarantees are those of `Query.stream`: documents come in the query's order, each once; after a transient error in
 * the middle, the query goes on behind the last document that came, and reads at the same moment as before.
 */

/** What to read of a collection. */
export interface QuerySpec {
  collection: string;
  /** All of these hold. */
  where?: readonly FieldFilter[];
  /** A field to order by, ascending; a document without it is left out. Equals, or all without it, go by their ids. */
  orderBy?: string;
  /** The fields to read. */
  fields: readonly string[];
}

export type FieldFilter = readonly [field: string, operator: keyof typeof FILTER_OPERATORS, value: string | number];

/** With their numbers in Firestore's `StructuredQuery.FieldFilter.Operator`. */
const FILTER_OPERATORS = { '<': 1, '>=': 4, '==': 5 } as const;

/** How many messages are handed on at a time: an asynchronous step for each of them would cost as much as all else. */
const MESSAGES_PER_BATCH = 128;

/** Bytes from which on fewer are handed on: a document may have a mebibyte. */
const MAX_BATCH_BYTES = 1024 * 1024;

/** Time and chance of the pauses between tries. */
export type StreamOptions = Pick<RetryOptions, 'clock' | 'random'>;

/**
 * Streams the documents of a query in batches as they arrive, at the pace of the consumer.
 *
 * Documents come in the order of the query, each once. After a transient error the query continues after the last
 * document and reads at the same time as before; it fails after a minute of errors without a document.
 *
 * @throws the reason of the context's signal as soon as that aborts
 */
export async function* streamQuery(
  context: CallContext,
  query: QuerySpec,
  options: StreamOptions = { clock: systemClock, random: Math.random },
): AsyncGenerator<readonly StoredDocument[]> {
  const { signal } = context;
  const connection = await getConnection();
  const { documentsPath } = connection;
  const parentBytes = Buffer.byteLength(`${documentsPath}/${query.collection}/`);
  const backoff = new Backoff({ ...options, signal });
  let request = encodeRunQueryRequest(documentsPath, query);
  for (;;) {
    signal.throwIfAborted();
    context.callCount += 1;
    const call = startCall(connection, request);
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel);
    let last: Buffer | undefined;
    try {
      for await (const messages of readBatches(call)) {
        const found: StoredDocument[] = [];
        for (const message of messages) {
          const document = decodeDocument(message, parentBytes);
          if (document === undefined) continue;
          found.push(document);
          last = message;
        }
        context.documentCount += found.length;
        if (found.length > 0) yield found;
      }
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (last !== undefined) {
        request = encodeRunQueryRequest(documentsPath, query, decodeCursor(last, query.orderBy));
        backoff.reset();
      }
      await backoff.wait(error);
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  }
}

function startCall({ client, documentsPath, createMetadata }: GrpcConnection, request: Buffer) {
  const metadata = createMetadata(`parent=${encodeURIComponent(documentsPath)}`);
  const options = callOptions(CALL_TIMEOUTS_MS.query);
  return runOutsideDomain(() =>
    client.makeServerStreamRequest(methodPath('RunQuery'), identity, identity, request, metadata, options),
  );
}

/** The messages of a call in groups, read at the pace at which these are taken. @throws the call's error, after the last */
async function* readBatches(call: ClientReadableStream<Buffer>): AsyncGenerator<readonly Buffer[]> {
  let messages: Buffer[] = [];
  let bytes = 0;
  const end: { reached: boolean; error?: Error } = { reached: false };
  let notify: () => void = () => undefined;
  const arrive = (message: Buffer) => {
    bytes += message.length;
    if (messages.push(message) < MESSAGES_PER_BATCH && bytes < MAX_BATCH_BYTES) return;
    call.pause();
    notify();
  };
  runOutsideDomain(() => call.on('data', arrive));
  call.on('end', () => {
    end.reached = true;
    notify();
  });
  // Also of a call that is cancelled because nobody reads on: with no listener, its error would end the process.
  call.on('error', (error) => {
    end.reached = true;
    end.error = error;
    notify();
  });
  while (!end.reached) {
    if (!call.isPaused()) await new Promise<void>((resolve) => (notify = resolve));
    const arrived = messages;
    messages = [];
    bytes = 0;
    if (arrived.length > 0) yield arrived;
    runOutsideDomain(() => call.resume());
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
function encodeRunQueryRequest(
  parent: string,
  { collection, where = [], orderBy, fields }: QuerySpec,
  position?: QueryCursor,
): Buffer {
  const order = orderBy === undefined ? [NAME] : [orderBy, NAME];
  // To go on behind a document, what it is ordered by must be known of it.
  const read = orderBy === undefined ? fields : [...fields, orderBy];
  const query = [
    encodeBytesField(QUERY.select, ...read.map((path) => encodeFieldReference(PROJECTION.fields, path))),
    encodeBytesField(QUERY.from, encodeBytesField(COLLECTION.id, collection)),
    ...(where.length === 0 ? [] : [encodeBytesField(QUERY.where, encodeAndFilter(where))]),
    ...order.map((path) =>
      encodeBytesField(
        QUERY.orderBy,
        encodeFieldReference(ORDER.field, path),
        encodeIntegerField(ORDER.direction, ORDER.ascending),
      ),
    ),
    ...(position === undefined ? [] : [encodeBytesField(QUERY.startAt, ...encodeCursorValues(position))]),
  ];
  const readTime = position === undefined ? [] : [encodeBytesField(REQUEST.readTime, position.readTime)];
  return Buffer.concat([
    encodeBytesField(REQUEST.parent, parent),
    encodeBytesField(REQUEST.query, ...query),
    ...readTime,
  ]);
}

const encodeFieldReference = (number: number, path: string): Buffer =>
  encodeBytesField(number, encodeBytesField(FIELD.path, path));

function encodeAndFilter(conditions: readonly FieldFilter[]): Buffer {
  const filters = conditions.map(([path, operator, value]) =>
    encodeBytesField(
      COMPOSITE.filters,
      encodeBytesField(
        FILTER.field,
        encodeFieldReference(CONDITION.field, path),
        encodeIntegerField(CONDITION.operator, FILTER_OPERATORS[operator]),
        encodeBytesField(CONDITION.value, encodeValue(value)),
      ),
    ),
  );
  return encodeBytesField(FILTER.composite, encodeIntegerField(COMPOSITE.operator, COMPOSITE.and), ...filters);
}

const encodeValue = (value: string | number): Buffer =>
  typeof value === 'string' ? encodeBytesField(VALUE.string, value) : encodeIntegerField(VALUE.integer, value);

/** Behind the document of a position: what it is ordered by as it was sent, and its name. */
const encodeCursorValues = ({ orderByValue, name }: QueryCursor): Buffer[] => [
  ...(orderByValue === undefined ? [] : [encodeBytesField(CURSOR.values, orderByValue)]),
  encodeBytesField(CURSOR.values, encodeBytesField(VALUE.reference, name)),
];
