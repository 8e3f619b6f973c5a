import { gzipSync } from 'node:zlib';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { createRandom } from '../../../local/sample/random';
import { DEPLOY_PACKAGE, MEMORY_PROBE_ENV, startDeployedFunction } from '../deployment/deployed';
import { sendRequest } from '../support/http';
import { operations } from '../support/operations';
import { readDeclaredIndexes } from '../support/declared-indexes';
import { mutateRecipe, randomRecipe, writeBody, type BodyRecipe } from './expensive-bodies';

/**
 * Searches for the request body of at most 32 MiB that takes the most memory. It tries the known
 * bodies, then random ones and variants of the worst one so far. `FUZZ_BODIES` sets how many random
 * bodies it tries, `SEED` the seed.
 */

const count = Number(process.env['FUZZ_BODIES'] ?? 1);
const seed = Number(process.env['SEED'] ?? 1);

const MIB = 1024 * 1024;
const MAX_MIB = 256;
const API_KEY = 'fuzz-key';

const full = { bodyBytes: 32 * MIB, fillerBytes: 2, idLength: 8 };

/** Each was the most expensive body of a search. */
const KNOWN: readonly BodyRecipe[] = [
  { ...full, shape: 'validProducts', filler: '{}', id: 'oneWideCharacter', idLength: 1_400 },
  { ...full, shape: 'invalidProducts', filler: 'names', id: 'ascii', fillerBytes: 50_000 },
  { ...full, shape: 'manyProductsObjects', filler: '1.5', id: 'ascii' },
];

let firestore: EmbeddedFirestore;
beforeAll(async () => {
  firestore = await startFirestore({ indexes: readDeclaredIndexes() });
});
afterAll(() => firestore.close());

const HEADERS = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-encoding': 'gzip' };

/** Sends a body to a new process. @returns by how many MiB its resident set exceeded that of the idle process */
async function measureMiB(recipe: BodyRecipe): Promise<number> {
  firestore.clear();
  const deployed = await startDeployedFunction(DEPLOY_PACKAGE, 'addPriceLists', {
    API_KEY,
    CORS_ALLOWED_ORIGINS: '',
    FIRESTORE_EMULATOR_HOST: firestore.address,
    METADATA_SERVER_DETECTION: 'none',
    ...MEMORY_PROBE_ENV,
  });
  // The body is sent in chunks, because the response may come before it is complete.
  const sendCompressed = (body: Buffer) => {
    const packed = gzipSync(body, { level: 1 });
    return sendRequest(deployed.port, { method: 'POST', headers: HEADERS, body: [packed] });
  };
  const valid = Buffer.from(JSON.stringify(operations.addPriceLists.body));
  for (let i = 0; i < 5; i += 1) expect((await sendCompressed(valid)).status).toBe(200);
  const { rss: idle } = await deployed.readRss();
  const { status } = await sendCompressed(writeBody(recipe));
  expect([200, 400, 413]).toContain(status);
  const { peakRss } = await deployed.readRss();
  expect((await sendCompressed(valid)).status).toBe(200);
  await deployed.stop();
  return Math.round((peakRss - idle) / MIB);
}

test(`known bodies and ${count} from seed ${seed} take at most ${MAX_MIB} MiB each`, async () => {
  const random = createRandom(seed);
  let worst = { mib: 0, recipe: randomRecipe(random) };
  for (let i = 0; i < KNOWN.length + count; i += 1) {
    const recipe = KNOWN[i] ?? (random.next() < 0.5 ? randomRecipe(random) : mutateRecipe(worst.recipe, random));
    const mib = await measureMiB(recipe);
    if (mib > worst.mib) worst = { mib, recipe };
    expect({ recipe, isWithinLimit: mib <= MAX_MIB, mib }).toEqual({ recipe, isWithinLimit: true, mib });
  }
  process.stdout.write(
    `seed ${seed}: the most expensive body takes ${worst.mib} MiB, ${JSON.stringify(worst.recipe)}\n`,
  );
  // A working measurement shows at least the products of this body.
  expect(worst.mib).toBeGreaterThan(20);
}, 1_800_000);
