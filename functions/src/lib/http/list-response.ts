import type { HandlerResult } from './pipeline';

type RecordEntry = [id: string, record: object];

type RecordBatches = AsyncIterable<RecordEntry[]> | Iterable<RecordEntry[]>;

/** Returns the response `{"<name>": {"<id>": record, …}, "count": n}`, with the count last (docs/decisions/0006-count-last.md). */
export const toRecordMap = (name: string, batches: RecordBatches): HandlerResult =>
  streamList(`{"${name}":{`, batches, ([id, record]) => `${JSON.stringify(id)}:${JSON.stringify(record)}`, '}');

/** Returns the response `{"<name>": [{"id": "<id>", …record}, …], "count": n}`. */
export const toRecordArray = (name: string, batches: RecordBatches): HandlerResult =>
  streamList(`{"${name}":[`, batches, ([id, record]) => JSON.stringify({ id, ...record }), ']');

function streamList(
  start: string,
  batches: RecordBatches,
  toText: (entry: RecordEntry) => string,
  end: string,
): HandlerResult {
  let count = 0;
  async function* stream() {
    yield start;
    for await (const batch of batches) {
      yield (count === 0 ? '' : ',') + batch.map(toText).join(',');
      count += batch.length;
    }
    yield `${end},"count":${count}}`;
  }
  return {
    body: stream(),
    get count() {
      return count;
    },
  };
}
