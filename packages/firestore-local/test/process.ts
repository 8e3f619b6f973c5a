import { readFileSync } from 'node:fs';
import { startFirestore, type IndexDefinitions } from '../src';

/*
 * Runs the embedded Firestore as a process: npx tsx packages/firestore-local/test/process.ts
 *
 * FIRESTORE_PORT (default 8080; 0 is any free port), DATA_DIR (default .local-data; `:memory:` keeps nothing), INDEXES (path
 * of a firestore.indexes.json; without it, no query needs a declared index).
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
