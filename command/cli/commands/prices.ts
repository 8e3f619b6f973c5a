import { readAllEntries } from '../../records/entries';
import { billPage } from '../../records/pages';
import { fields } from '../../../functions/src/lib/firestore/collections';
import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import { formatCsv, writeCsv } from '../csv';
import { CommandError } from '../errors';
import { writeNewFile } from '../new-file';
import { count, quote } from '../text';
import type { CommandContext } from './context';

/** The lists in the order of the columns. */
const KINDS = ['price_list', 'expected_forward_cost'] as const;

type Prices = Partial<Record<(typeof KINDS)[number], number>>;

/**
 * Writes the stored prices as CSV, with a row for each product that has an entry, in Firestore's order of ids. A price that is
 * missing or malformed gets an empty cell.
 *
 * @throws CommandError if the key has no lists; as `readAllEntries`, `writeNewFile` and `writeCsv` do
 */
export async function writePrices({ lists }: KeyRecord, file: string, context: CommandContext): Promise<void> {
  if (lists === null) throw new CommandError('The key has no lists, because no market matched.');
  const products = new Map<string, Prices>();
  let documentReads = 0;
  for (const kind of KINDS) {
    for await (const page of readAllEntries(context.db, context.workContext, kind, lists)) {
      documentReads += billPage(page);
      for (const entry of page) {
        const price: unknown = entry.get(fields.entry[kind]);
        const prices = products.get(entry.id) ?? {};
        products.set(entry.id, typeof price === 'number' ? { ...prices, [kind]: price } : prices);
      }
    }
  }
  const sorted = [...products].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const rows = sorted.map(([id, prices]) => formatCsv([id, ...KINDS.map((kind) => prices[kind] ?? null)]));
  const csv = [formatCsv(['product_id', 'price_list_price', 'expected_forward_cost_price'], true), ...rows];
  if (file === '-') for (const row of csv) await writeCsv(row, context);
  else await writeNewFile(file, csv);
  const target = file === '-' ? '' : ` to ${quote(file)}`;
  context.terminal.printError(
    `Wrote the prices of ${count(products.size, 'product')}${target}. ${count(documentReads, 'document read')}.\n`,
  );
}
