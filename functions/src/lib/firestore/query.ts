import type { ClientReadableStream } from '@grpc/grpc-js';
import { measurePhase, type Counters, type RequestContext } from '../request-context';
import { CALL_TIMEOUTS_MS } from '../time-limits';
import { getConnection } from './connection';
import { decodeDocument, encodeRunQueryRequest, type QuerySpec, type StoredFields } from './messages';
import { runOutsideDomain } from './node-domain';
import { Backoff, isTransient } from './retry';

/** One asynchronous step per message would cost as much as everything else. */
const MESSAGES_PER_BATCH = 128;

/** Ends a batch early: a document can have a mebibyte. */
const MAX_BATCH_BYTES = 1024 * 1024;

/**
 * Streams the records of a query's documents, each with its id, in batches as they arrive, at the
 * pace of the consumer.
 *
 * They come in the order of the query, each once. After a transient error the query continues after
 * the last document and reads at the same time as before; it fails after a minute of errors without
 * a document.
 *
 * @throws the reason of the context's signal as soon as that aborts
 */
export async function* streamQuery<T>(
  context: RequestContext,
  query: QuerySpec,
  toRecord: (stored: StoredFields) => T,
): AsyncGenerator<[id: string, record: T][]> {
  const { signal } = context;
  const { client, documentsPath, prepareCall } = await getConnection();
  let backoff = new Backoff(context, 'query');
  let request = encodeRunQueryRequest(documentsPath, query);
  for (;;) {
    signal.throwIfAborted();
    context.counters.firestoreCalls += 1;
    const prepared = prepareCall('RunQuery', request, CALL_TIMEOUTS_MS.query);
    const call = runOutsideDomain(() => client.makeServerStreamRequest(...prepared));
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel);
    let last: Buffer | undefined;
    try {
      for await (const messages of readBatches(call, context.counters)) {
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
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (last !== undefined) {
        request = encodeRunQueryRequest(documentsPath, query, last);
        backoff = new Backoff(context, 'query');
      }
      await measurePhase(context.counters, 'firestore', () => backoff.wait(error));
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  }
}

/** Yields the messages of a call in batches, at the pace of the consumer. @throws the error of the call, after the last */
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
  runOutsideDomain(() => call.on('data', append));
  const onEnd = (error?: Error) => {
    end.reached = true;
    end.error ??= error;
    notify();
  };
  // Stay until the end: without a listener, the error of a cancelled call would end the process.
  call.on('end', onEnd).on('error', onEnd);
  while (!end.reached) {
    const nextMessages = () => new Promise<void>((resolve) => (notify = resolve));
    if (!call.isPaused()) await measurePhase(counters, 'firestore', nextMessages);
    const batch = messages;
    messages = [];
    bytes = 0;
    if (batch.length > 0) yield batch;
    runOutsideDomain(() => call.resume());
  }
  if (end.error !== undefined) throw end.error;
}
