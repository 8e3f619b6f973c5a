/** The records of a list as they arrive, each with the id of its document. */
type RecordBatches = AsyncIterable<RecordBatch> | Iterable<RecordBatch>;

type RecordBatch = [id: string, record: object][];

/**
 * Streams the JSON `{"<name>": {"<id>": record, …}, "count": n}`. The count is last because it is known last
 * (docs/decisions/0006-count-last.md).
 */
export const streamRecordMap = (name: string, batches: RecordBatches): AsyncGenerator<string> =>
  streamList(name, '{}', batches, ([id, record]) => `${JSON.stringify(id)}:${JSON.stringify(record)}`);

/** Streams the JSON `{"<name>": [{"id": "<id>", …record}, …], "count": n}`. */
export const streamRecordArray = (name: string, batches: RecordBatches): AsyncGenerator<string> =>
  streamList(name, '[]', batches, ([id, record]) => JSON.stringify({ id, ...record }));

async function* streamList(
  name: string,
  [open, close]: string,
  batches: RecordBatches,
  toText: (entry: [id: string, record: object]) => string,
): AsyncGenerator<string> {
  let count = 0;
  yield `{"${name}":${open}`;
  for await (const batch of batches) {
    yield (count === 0 ? '' : ',') + batch.map(toText).join(',');
    count += batch.length;
  }
  yield `${close},"count":${count}}`;
}
