import type { Identified } from '../repositories/organisation';

/** The JSON of lists, in pieces as records arrive. The count stands last: it is known only then. */

/** `{"<name>": {"<id>": record, …}, "count": n}` */
export async function* keyedList(name: string, records: AsyncIterable<Identified<object>>): AsyncGenerator<string> {
  let count = 0;
  yield `{"${name}":{`;
  for await (const [id, record] of records) {
    yield `${count === 0 ? '' : ','}${JSON.stringify(id)}:${JSON.stringify(record)}`;
    count += 1;
  }
  yield `},"count":${count}}`;
}

/** `{"<name>": [record, …], "count": n}` */
export async function* plainList(name: string, records: AsyncIterable<object>): AsyncGenerator<string> {
  let count = 0;
  yield `{"${name}":[`;
  for await (const record of records) {
    yield `${count === 0 ? '' : ','}${JSON.stringify(record)}`;
    count += 1;
  }
  yield `],"count":${count}}`;
}
