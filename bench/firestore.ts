import { readFileSync } from 'node:fs';
import { PROJECT } from '../dev/run/deployed';
import { startFirestore, type IndexDefinitions } from '../emulator/src';
import { createRecords } from './data';

/*
 * The process of the embedded Firestore, which stack.ts starts. The process sends Firestore's address to its parent, and responds
 * to every message with the number of calls that Firestore has received. If the `orders` of a message are not null, the process
 * first replaces all data with the records for these numbers of orders.
 */
async function main(): Promise<void> {
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const firestore = await startFirestore({ indexes });
  const onMessage = async ({ orders }: { orders: readonly number[] | null }) => {
    if (orders !== null) {
      firestore.clear();
      await firestore.addIfEmpty(PROJECT, createRecords(orders));
    }
    const calls = Object.values(firestore.counts()).reduce((sum, count) => sum + count, 0);
    process.send?.({ calls });
  };
  process.on('message', (message: { orders: readonly number[] | null }) => void onMessage(message));
  process.on('disconnect', () => process.exit());
  process.send?.({ address: firestore.address });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
