import { readFileSync } from 'node:fs';
import { startFirestore, type IndexDefinitions } from './index';

/*
 * The embedded Firestore as a process of its own: node --import tsx local/firestore/main.ts
 *
 * FIRESTORE_PORT (8080; 0 is any), DATA_DIR (.local-data; `:memory:` keeps nothing), INDEXES (the path of a
 * firestore.indexes.json; without it no query is refused for want of an index).
 */
async function main(): Promise<void> {
  const { FIRESTORE_PORT = '8080', DATA_DIR = '.local-data', INDEXES } = process.env;
  const firestore = await startFirestore({
    port: Number(FIRESTORE_PORT),
    dataDir: DATA_DIR,
    ...(INDEXES && { indexes: JSON.parse(readFileSync(INDEXES, 'utf8')) as IndexDefinitions }),
  });
  const stop = (): void => {
    firestore.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  console.log(`Data: ${DATA_DIR}`);
  console.log(`Ready at ${firestore.address}: FIRESTORE_EMULATOR_HOST=${firestore.address}`);
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

main().catch(fail);
