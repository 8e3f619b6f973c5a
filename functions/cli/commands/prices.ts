import { streamStoredEntries } from '../../src/lib/repositories/price-lists';
import type { Database } from '../../src/lib/firestore/database';
import type { ClaimedLists, KeyRecord } from '../../src/lib/schemas/key-record';
import { formatCsv, writeCsv } from '../csv';
import { CommandError } from '../errors';
import { writeNewFile } from '../new-file';
import { count, quote } from '../text';
import type { CommandContext } from './context';

/** Writes both stored prices of each product as CSV. @throws CommandError without lists, or as `writeNewFile` does */
export async function writePrices({ lists }: KeyRecord, file: string, context: CommandContext): Promise<void> {
  const { db, terminal } = context;
  if (lists === null) throw new CommandError('The key has no lists, because no market matched.');
  const counts = { products: 0, entries: 0 };
  const chunks = streamPrices(db, lists, counts);
  if (file === '-') for await (const chunk of chunks) await writeCsv(chunk, context);
  else await writeNewFile(file, chunks);
  const target = file === '-' ? '' : ` to ${quote(file)}`;
  terminal.printError(
    `Wrote the prices of ${count(counts.products, 'product')}${target}. ${count(counts.entries, 'document read')}.\n`,
  );
}

const PRODUCTS_PER_CHUNK = 500;

/** Yields CSV. A product with an entry in only one list has an empty cell for the other price. */
async function* streamPrices(
  db: Database,
  lists: ClaimedLists,
  counts: { products: number; entries: number },
): AsyncGenerator<string> {
  let rows: [id: string, price: number | null, cost: number | null][] = [];
  yield formatCsv([['product_id', 'price_list_price', 'expected_forward_cost_price']], true);
  const prices = streamStoredEntries(db, 'price_list', lists);
  const costs = streamStoredEntries(db, 'expected_forward_cost', lists);
  try {
    let [price, cost] = await Promise.all([readNext(prices), readNext(costs)]);
    while (price !== undefined || cost !== undefined) {
      const order = compareIds(price?.[0], cost?.[0]);
      const id = (order <= 0 ? price?.[0] : cost?.[0]) ?? '';
      rows.push([id, order <= 0 ? (price?.[1] ?? null) : null, order >= 0 ? (cost?.[1] ?? null) : null]);
      counts.products += 1;
      counts.entries += order === 0 ? 2 : 1;
      if (order <= 0) price = await readNext(prices);
      if (order >= 0) cost = await readNext(costs);
      if (rows.length === PRODUCTS_PER_CHUNK) {
        yield formatCsv(rows);
        rows = [];
      }
    }
    if (rows.length > 0) yield formatCsv(rows);
  } finally {
    await Promise.all([prices.return(undefined), costs.return(undefined)]);
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
