import { readFileSync } from 'node:fs';
import type { IndexDefinitions } from '../packages/firestore-local/src';
import { PROJECT } from '../functions/test/deployment/deployed';
import { startFirestore } from '../packages/firestore-local/src/internal';
import { createRecords } from './data';

/*
 * The embedded Firestore in a process of its own, started by stack.ts. Tells its parent the
 * address, and responds to every message with how many calls have arrived; to one with sizes, when
 * it has their records in place of all data.
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
