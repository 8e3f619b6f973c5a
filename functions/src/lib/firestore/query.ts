import type { ClientReadableStream } from '@grpc/grpc-js';
import { measurePhase, type Counters, type WorkContext } from '../work-context';
import { getConnection } from './connection';
import { decodeDocument, encodeRunQueryRequest, type QuerySpec, type StoredFields } from './messages';
import { Backoff, isTransient } from './retry';

/** Maximum number of messages in a batch. */
const MESSAGES_PER_BATCH = 128;

/** A batch of this size ends early, because a document can be as large as 1 MiB. */
const MAX_BATCH_BYTES = 1024 * 1024;

/**
 * Streams the documents of a query, each as a record with its id, in batches as they arrive, as fast as the
 * consumer takes them.
 *
 * Each document comes once, in the order of the query. After a transient error the query continues
 * after the last document, with the read time of that document. It fails if retries bring no document
 * for a minute.
 *
 * @throws an error of {@link getConnection} or {@link decodeDocument}; the last error of a call if no retry follows; the
 * signal's reason as soon as the signal aborts. If it aborts during a pause, but not for a stop, the last error is thrown
 * instead.
 */
export async function* streamQuery<T>(
  context: WorkContext,
  query: QuerySpec,
  toRecord: (stored: StoredFields) => T,
): AsyncGenerator<[id: string, record: T][]> {
  const { documentsPath } = await getConnection();
  let backoff = new Backoff(context, 'outage');
  let request = encodeRunQueryRequest(documentsPath, query);
  for (;;) {
    context.signal.throwIfAborted();
    context.counters.firestoreCalls += 1;
    let last: Buffer | undefined;
    try {
      for await (const messages of runQuery(context, request)) {
        const found: [string, T][] = [];
        for (const message of messages) {
          const document = decodeDocument(message);
          if (document === undefined) continue;
          found.push([document.id, toRecord(document.fields)]);
          last = message;
        }
        if (found.length > 0) yield found;
      }
      return;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (last !== undefined) {
        request = encodeRunQueryRequest(documentsPath, query, last);
        backoff = new Backoff(context, 'outage');
      }
      await measurePhase(context.counters, 'firestore', () => backoff.wait(error));
    }
  }
}

async function* runQuery({ signal, counters }: WorkContext, request: Buffer): AsyncGenerator<readonly Buffer[]> {
  const connection = await getConnection();
  const call = connection.runQuery(request);
  const cancel = () => call.cancel();
  signal.addEventListener('abort', cancel);
  try {
    yield* readBatches(call, counters);
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/**
 * Collects messages into batches, because a plain `for await` would take 1.15 times the processor time for 100,000
 * orders (medians of 10 pairs, November 2026).
 *
 * @throws the error of the call, after the last batch
 */
async function* readBatches(call: ClientReadableStream<Buffer>, counters: Counters): AsyncGenerator<readonly Buffer[]> {
  let messages: Buffer[] = [];
  let bytes = 0;
  const end: { reached: boolean; error?: Error | undefined } = { reached: false };
  let notify: () => void = () => undefined;
  const append = (message: Buffer) => {
    bytes += message.length;
    if (messages.push(message) < MESSAGES_PER_BATCH && bytes < MAX_BATCH_BYTES) return;
    call.pause();
    notify();
  };
  call.on('data', append);
  const onEnd = (error?: Error) => {
    end.reached = true;
    end.error ??= error;
    notify();
  };
  // These listeners are never removed, because an unhandled error of a cancelled call would end the process.
  call.on('end', onEnd).on('error', onEnd);
  while (!end.reached) {
    const nextMessages = () => new Promise<void>((resolve) => (notify = resolve));
    if (!call.isPaused()) await measurePhase(counters, 'firestore', nextMessages);
    const batch = messages;
    messages = [];
    bytes = 0;
    if (batch.length > 0) yield batch;
    call.resume();
  }
  if (end.error !== undefined) throw end.error;
}
