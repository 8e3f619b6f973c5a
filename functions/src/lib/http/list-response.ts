import type { Counters } from '../work-context';

/** Records of a list in the order in which they arrive, each with the id of its document. */
type RecordBatches = AsyncIterable<RecordBatch> | Iterable<RecordBatch>;

type RecordBatch = RecordEntry[];

type RecordEntry = [id: string, record: object];

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

/** Counts the records that it streams. */
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
