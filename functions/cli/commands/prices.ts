import { readAllEntries } from '../../records/entries';
import { billPage } from '../../records/pages';
import { fields } from '../../src/lib/firestore/collections';
import type { ListKind } from '../../src/lib/repositories/lists';
import type { KeyLists, KeyRecord } from '../../src/lib/schemas/key-record';
import { formatCsv, writeCsv } from '../csv';
import { CommandError } from '../errors';
import { writeNewFile } from '../new-file';
import { count, quote } from '../text';
import type { CommandContext } from './context';

/** Writes both stored prices of each product as CSV. @throws CommandError if the key has no lists, and the errors of `writeNewFile` */
export async function writePrices({ lists }: KeyRecord, file: string, context: CommandContext): Promise<void> {
  if (lists === null) throw new CommandError('The key has no lists, because no market matched.');
  const counts = { products: 0, documentReads: 0 };
  const chunks = streamPrices(lists, counts, context);
  if (file === '-') for await (const chunk of chunks) await writeCsv(chunk, context);
  else await writeNewFile(file, chunks);
  const target = file === '-' ? '' : ` to ${quote(file)}`;
  context.terminal.printError(
    `Wrote the prices of ${count(counts.products, 'product')}${target}. ${count(counts.documentReads, 'document read')}.\n`,
  );
}

interface Counts {
  products: number;
  documentReads: number;
}

/** Yields CSV. A product with an entry in only one list has an empty cell for the other price. */
async function* streamPrices(lists: KeyLists, counts: Counts, context: CommandContext): AsyncGenerator<string> {
  yield formatCsv(['product_id', 'price_list_price', 'expected_forward_cost_price'], true);
  const prices = streamEntries('price_list', lists, counts, context);
  const costs = streamEntries('expected_forward_cost', lists, counts, context);
  let [price, cost] = await Promise.all([readNext(prices), readNext(costs)]);
  while (price !== undefined || cost !== undefined) {
    const order = compareIds(price?.[0], cost?.[0]);
    const id = (order <= 0 ? price?.[0] : cost?.[0]) ?? '';
    yield formatCsv([id, order <= 0 ? (price?.[1] ?? null) : null, order >= 0 ? (cost?.[1] ?? null) : null]);
    counts.products += 1;
    if (order <= 0) price = await readNext(prices);
    if (order >= 0) cost = await readNext(costs);
  }
}

/** Yields the stored entries of a list in Firestore's order; the price is null if it is not a number. */
async function* streamEntries(
  kind: ListKind,
  lists: KeyLists,
  counts: Counts,
  { db, workContext }: CommandContext,
): AsyncGenerator<[id: string, price: number | null]> {
  for await (const page of readAllEntries(db, workContext, kind, lists)) {
    counts.documentReads += billPage(page);
    for (const entry of page) {
      const price: unknown = entry.get(fields.entry[kind]);
      yield [entry.id, typeof price === 'number' ? price : null];
    }
  }
}

async function readNext<T>(entries: AsyncGenerator<T, unknown>): Promise<T | undefined> {
  const next = await entries.next();
  return next.done === true ? undefined : next.value;
}

/** Compares ids in the order of Firestore, which is that of their UTF-8 bytes. A list that has ended comes last. */
function compareIds(a: string | undefined, b: string | undefined): number {
  if (a === undefined) return 1;
  return b === undefined ? -1 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}
