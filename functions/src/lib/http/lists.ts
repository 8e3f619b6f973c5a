import type { Groups, Identified } from '../repositories/organisation';

/** The JSON of lists, in pieces as records arrive. The count stands last: it is known only then. */

/** `{"<name>": {"<id>": record, …}, "count": n}` */
export const keyedList = (name: string, groups: Groups<Identified<object>>): AsyncGenerator<string> =>
  listed(name, '{}', groups, ([id, record]) => `${JSON.stringify(id)}:${JSON.stringify(record)}`);

/** `{"<name>": [record, …], "count": n}` */
export const plainList = (name: string, groups: Groups<object>): AsyncGenerator<string> =>
  listed(name, '[]', groups, (record) => JSON.stringify(record));

async function* listed<T>(
  name: string,
  [open, close]: string,
  groups: Groups<T>,
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
