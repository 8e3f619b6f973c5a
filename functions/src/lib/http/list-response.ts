import type { RecordBatches, IdentifiedRecord } from '../repositories/organisation';

/** The JSON of lists, in pieces as records arrive. The count stands last: it is known only then. */

/** `{"<name>": {"<id>": record, …}, "count": n}` */
export const streamRecordMap = (
  name: string,
  groups: RecordBatches<IdentifiedRecord<object>>,
): AsyncGenerator<string> =>
  streamList(name, '{}', groups, ([id, record]) => `${JSON.stringify(id)}:${JSON.stringify(record)}`);

/** `{"<name>": [record, …], "count": n}` */
export const streamRecordArray = (name: string, groups: RecordBatches<object>): AsyncGenerator<string> =>
  streamList(name, '[]', groups, (record) => JSON.stringify(record));

async function* streamList<T>(
  name: string,
  [open, close]: string,
  groups: RecordBatches<T>,
  text: (record: T) => string,
): AsyncGenerator<string> {
  let count = 0;
  yield `{"${name}":${open}`;
  for await (const group of groups) {
    yield (count === 0 ? '' : ',') + group.map(text).join(',');
    count += group.length;
  }
  yield `${close},"count":${count}}`;
}
