import { readFileSync } from 'node:fs';
import type { IndexDefinitions } from '../packages/firestore-local/src';
import { startFirestore } from '../packages/firestore-local/src/internal';
import { createRecords, PROJECT_ID } from './data';
import type { FillRequest } from './stack';

/*
 * The embedded Firestore in a process of its own, started by stack.ts. Tells its parent the address. Responds to every
 * message with how many calls have arrived, to a {@link FillRequest} when it has the records in place of all data.
 */
async function main(): Promise<void> {
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const firestore = await startFirestore({ indexes });
  const send = (message: object) => process.send?.(message);
  const onMessage = async (message: FillRequest | 'counts') => {
    if (message !== 'counts') {
      firestore.clear();
      await firestore.addIfEmpty(PROJECT_ID, createRecords(message.teams, message.orders));
    }
    send({ calls: Object.values(firestore.counts()).reduce((sum, count) => sum + count, 0) });
  };
  process.on('message', (message: FillRequest | 'counts') => void onMessage(message));
  process.on('disconnect', () => process.exit());
  send({ address: firestore.address });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
