import type { Counters } from '../work-context';

type RecordEntry = [id: string, record: object];

type RecordBatches = AsyncIterable<RecordEntry[]> | Iterable<RecordEntry[]>;

/**
 * Streams the JSON `{"<name>": {"<id>": record, …}, "count": n}`. The count is last because it is
 * known last (docs/decisions/0006-count-last.md).
 */
export const streamRecordMap = (name: string, batches: RecordBatches, counters: Counters): AsyncGenerator<string> =>
  streamList(`{"${name}":{`, batches, toMember, '}', counters);

const toMember = ([id, record]: RecordEntry): string => `${JSON.stringify(id)}:${JSON.stringify(record)}`;

/** Streams the JSON `{"<name>": [{"id": "<id>", …record}, …], "count": n}`. */
export const streamRecordArray = (name: string, batches: RecordBatches, counters: Counters): AsyncGenerator<string> =>
  streamList(`{"${name}":[`, batches, toElement, ']', counters);

const toElement = ([id, record]: RecordEntry): string => JSON.stringify({ id, ...record });

async function* streamList(
  start: string,
  batches: RecordBatches,
  toText: (entry: RecordEntry) => string,
  end: string,
  counters: Counters,
): AsyncGenerator<string> {
  yield start;
  for await (const batch of batches) {
    yield (counters.records === 0 ? '' : ',') + batch.map(toText).join(',');
    counters.records += batch.length;
  }
  yield `${end},"count":${counters.records}}`;
}
