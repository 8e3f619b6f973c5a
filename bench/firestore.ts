import { readFileSync } from 'node:fs';
import { startFirestore, type IndexDefinitions } from '../local/firestore';

/*
 * The embedded Firestore in a process of its own, started by stack.ts. Tells its parent the address. Responds to
 * `counts` with how many calls have arrived, and to `clear` when all data is gone.
 */
async function main(): Promise<void> {
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const firestore = await startFirestore({ indexes });
  const send = (message: object) => process.send?.(message);
  process.on('message', (asked) => {
    if (asked === 'clear') firestore.clear();
    send({ calls: Object.values(firestore.counts()).reduce((sum, count) => sum + count, 0) });
  });
  process.on('disconnect', () => process.exit());
  send({ address: firestore.address });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
