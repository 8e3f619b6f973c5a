import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Firestore } from '@google-cloud/firestore';
import {
  DEPLOY_PACKAGE,
  PROJECT,
  startDeployedFunction,
  type DeployedFunction,
} from '../../functions/test/deployment/deployed';
import { startScheduledSweep, type ScheduledSweep } from '../../functions/test/deployment/scheduled-sweep';
import { createPriceListBody } from '../../functions/test/support/submissions';
import { readDeclaredIndexes } from '../../functions/test/support/declared-indexes';
import { startTestFirestore } from '../../functions/test/support/firestore';
import type { FirestoreFront } from '../../packages/firestore-local/src/internal';
import { startProgram } from '../support/programs';

/**
 * A partner's program while the platform stops add price lists, or kills it, in the middle of 20,000 products, with a sweep
 * beside it: the program retries as its responses ask, and ends with the lists. A kill leaves a lease that must expire
 * first, so this takes a minute, mostly spent waiting.
 */

const KEY = 'partner-key';
const PRODUCTS = 20_000;
const SIGNALS = ['SIGTERM', 'SIGKILL'] as const;

jest.setTimeout(300_000);

const folder = mkdtempSync(join(tmpdir(), 'samples-'));
const client = pathToFileURL(resolve('docs/examples/client/src/index.ts')).href;

/** The typed client as a program like the others. */
const CLIENT_PROGRAM = `import { readFileSync } from 'node:fs';
import { createClient } from '${client}';
const { BASE_URL = '', API_KEY = '' } = process.env;
const body = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
console.log(JSON.stringify(await createClient(BASE_URL, API_KEY).addPriceLists(body)));`;

const programs = {
  curl: ['bash', resolve('docs/examples/add-price-list.sh')],
  TypeScript: [process.execPath, resolve('docs/examples/add-price-list.mts')],
  Python: ['python3', resolve('docs/examples/add-price-list.py')],
  'typed client': [process.execPath, '--import', 'tsx', join(folder, 'client.mts')],
} as const;

let firestore: FirestoreFront;
let db: Firestore;
let sweep: ScheduledSweep;

/** Both begin at once, since each mostly waits. */
const runs = new Map<(typeof SIGNALS)[number], Promise<Result[]>>();

beforeAll(async () => {
  writeFileSync(join(folder, 'client.mts'), CLIENT_PROGRAM);
  firestore = await startTestFirestore(readDeclaredIndexes(), PROJECT);
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  db = new Firestore({ projectId: PROJECT });
  const market = { name: { en: 'Kenya' }, country_iso: 'KEN', currency_iso: 'KES' };
  await db.doc('markets/market-1').set(market);
  sweep = await startScheduledSweep(1_000, getEnvironment());
  for (const signal of SIGNALS) runs.set(signal, runThrough(signal));
});

afterAll(async () => {
  await Promise.allSettled(runs.values());
  await sweep.stop();
  await db.terminate();
  await firestore.close();
  rmSync(folder, { recursive: true });
});

test.each(SIGNALS)('each program ends with exit 0 through %s', async (signal) => {
  const results = await runs.get(signal);
  const ready = { status: 'ready' };
  expect(results).toEqual(
    Object.keys(programs).map((name) => ({
      name,
      code: 0,
      response: expect.objectContaining({
        products_count: PRODUCTS,
        price_list: expect.objectContaining(ready) as object,
        expected_forward_cost: expect.objectContaining(ready) as object,
      }) as object,
      // It was interrupted: a program that never had to retry proves nothing.
      log: expect.stringMatching(/409|500|no response/) as string,
    })),
  );
  for (const { response } of results ?? []) await expectEntries(response as { price_list: { id: string } });
});

/** Runs all programs while the service is replaced. */
async function runThrough(signal: (typeof SIGNALS)[number]): Promise<Result[]> {
  const service = await Service.start();
  const runs = Object.entries(programs).map(([name, command]) =>
    runProgram(name, command, `${name} ${signal}`, service),
  );
  await awaitProcessing(Object.keys(programs).map((name) => `${name} ${signal}`));
  await service.replace(signal);

  const results = await Promise.all(runs);
  await service.close();
  return results;
}

async function expectEntries({ price_list }: { price_list: { id: string } }): Promise<void> {
  const entries = await db.collection(`price_lists/${price_list.id}/products`).count().get();
  expect(entries.data().count).toBe(PRODUCTS);
}

interface Result {
  name: string;
  code: number | null;
  response: unknown;
  log: string;
}

async function runProgram(
  name: string,
  [program, ...args]: readonly [string, ...string[]],
  boq_list_id: string,
  { url }: Service,
): Promise<Result> {
  const file = join(folder, `${boq_list_id}.json`);
  writeFileSync(file, JSON.stringify(createPriceListBody(PRODUCTS, { boq_list_id })));
  const child = startProgram(program, [...args, file], { env: { BASE_URL: url, API_KEY: KEY } });
  let [stdout, log] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { name, code, response: stdout === '' ? undefined : JSON.parse(stdout), log };
}

/** Waits until the creation of each list has stored some of its entries. */
async function awaitProcessing(boqListIds: readonly string[]): Promise<void> {
  const keys = db.collection('price_list_idempotency').where('boq_list_id', 'in', boqListIds);
  const hasEntries = async () => {
    const { docs } = await keys.get();
    const counts = docs.map(async (key) => {
      const entries = db.collection(`price_lists/${String(key.get('creation.price_list_id'))}/products`);
      return (await entries.limit(1).get()).size;
    });
    return docs.length === boqListIds.length && (await Promise.all(counts)).every((count) => count > 0);
  };
  while (!(await hasEntries())) await new Promise((done) => setTimeout(done, 20));
}

/** Add price lists in a process that can be replaced, behind one address, as the platform has it. */
class Service {
  private constructor(
    private current: DeployedFunction,
    private readonly front: Server,
  ) {}

  static async start(): Promise<Service> {
    const front = createServer();
    const service = new Service(await startFunction(), front);
    front.on('connection', (socket) => {
      const upstream = connect(service.current.port, '127.0.0.1');
      socket.pipe(upstream).pipe(socket);
      socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
      upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    });
    await once(front.listen(0, '127.0.0.1'), 'listening');
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.front.address() as AddressInfo).port}`;
  }

  /** Ends the process, and has the next one serve what comes meanwhile. */
  async replace(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const stopped = this.current;
    this.current = await startFunction();
    if (signal === 'SIGKILL') process.kill(stopped.pid, signal);
    else await stopped.stop();
  }

  async close(): Promise<void> {
    this.front.close();
    await this.current.stop();
  }
}

const startFunction = (): Promise<DeployedFunction> =>
  startDeployedFunction(DEPLOY_PACKAGE, 'addPriceLists', getEnvironment());

const getEnvironment = () => ({
  API_KEY: KEY,
  CORS_ALLOWED_ORIGINS: '',
  FIRESTORE_EMULATOR_HOST: firestore.address,
  METADATA_SERVER_DETECTION: 'none',
});
