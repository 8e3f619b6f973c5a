/**
 * Streams the JSON `{"<name>": {"<id>": record, …}, "count": n}`. The count is last because it is known last
 * (docs/decisions/0006-count-last.md).
 */
export const streamRecordMap = (
  name: string,
  batches: AsyncIterable<readonly (readonly [id: string, record: object])[]>,
): AsyncGenerator<string> =>
  streamList(name, '{}', batches, ([id, record]) => `${JSON.stringify(id)}:${JSON.stringify(record)}`);

/** Streams the JSON `{"<name>": [record, …], "count": n}`. */
export const streamRecordArray = (name: string, batches: AsyncIterable<readonly object[]>): AsyncGenerator<string> =>
  streamList(name, '[]', batches, (record) => JSON.stringify(record));

async function* streamList<T>(
  name: string,
  [open, close]: string,
  batches: AsyncIterable<readonly T[]>,
  toText: (record: T) => string,
): AsyncGenerator<string> {
  let count = 0;
  yield `{"${name}":${open}`;
  for await (const batch of batches) {
    yield (count === 0 ? '' : ',') + batch.map(toText).join(',');
    count += batch.length;
  }
  yield `${close},"count":${count}}`;
}
