import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Firestore } from '@google-cloud/firestore';
import { startFirestore } from '../src';

/*
 * The embedded Firestore's figures, measured: npx tsx packages/firestore-local/bench/figures.ts
 * The server runs in a process of its own, with its data on disk, and the client is the real SDK. FIGURES_DOCS sets the
 * size of the large collection (200,000).
 */
const LARGE = Number(process.env['FIGURES_DOCS'] ?? 200_000);
const folder = mkdtempSync(join(tmpdir(), 'firestore-figures-'));

const report = (name: string, ms: number, note = ''): void =>
  console.log(`${name.padEnd(62)} ${ms.toFixed(0).padStart(7)} ms  ${note}`);

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  return [await work(), performance.now() - start];
}

interface Process {
  readonly address: string;
  readonly bootMs: number;
  stop(): Promise<void>;
  memory(): string;
}

async function boot(): Promise<Process> {
  const start = performance.now();
  const command = ['--import', 'tsx', 'packages/firestore-local/src/command.ts'];
  const child = spawn(process.execPath, [...command, '--port', '0', '--data', folder]);
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => reject(new Error(chunk.toString())));
    child.stdout.on('data', (chunk: Buffer) => {
      const ready = /^Ready: FIRESTORE_EMULATOR_HOST=(\S+)$/m.exec(chunk.toString());
      if (ready?.[1]) resolve(ready[1]);
    });
  });
  return {
    address,
    bootMs: performance.now() - start,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
    memory: () => {
      const status = execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' });
      return `${Math.round(Number(status) / 1024)} MB resident`;
    },
  };
}

const order = (i: number): object => ({
  team_id: `team${i % 10}`,
  market_id: `market${i % 7}`,
  invoice_id: `invoice${i}`,
  status: ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED'][i % 4],
  customer_data: { customer_id: `customer${i % 1000}`, customer_name: `Customer ${i % 1000}` },
  created_at: 1_700_000_000_000 + i * 1000,
});

async function load(db: Firestore, collection: string, from: number, to: number): Promise<number> {
  const [, ms] = await timed(async () => {
    for (let at = from; at < to; at += 500) {
      const batch = db.batch();
      for (let i = at; i < Math.min(to, at + 500); i++) batch.set(db.collection(collection).doc(), order(i));
      await batch.commit();
    }
  });
  return ms;
}

async function main(): Promise<void> {
  let server = await boot();
  report('boot, empty data folder (process start to Ready)', server.bootMs, 'goal 500');
  const connect = (): Firestore => new Firestore({ projectId: 'figures', host: server.address, ssl: false });
  let db = connect();
  await db.doc('warm/up').set({});
  report('10,000 documents in batches of 500', await load(db, 'small', 0, 10_000), 'goal 3,000');
  const ms = await load(db, 'orders', 0, LARGE);
  report(`${LARGE.toLocaleString('en-US')} documents in batches of 500`, ms, server.memory());

  const batch = db.batch();
  for (let i = 0; i < 500; i++) batch.set(db.collection('orders2').doc(), order(i));
  report('one commit of 500 sets, seen from the client', (await timed(() => batch.commit()))[1]);

  const width = 10_000;
  const range = (from: number): Promise<FirebaseFirestore.QuerySnapshot> =>
    db
      .collection('orders')
      .where('team_id', '==', 'team3')
      .where('created_at', '>=', 1_700_000_000_000 + from * 1000)
      .where('created_at', '<', 1_700_000_000_000 + (from + width) * 1000)
      .get();
  const [first, firstMs] = await timed(() => range(0));
  report(`equality and range, ${first.size} of ${LARGE}: the first time`, firstMs, 'goal 150 (of 100,000)');
  const times: number[] = [];
  for (let i = 1; i < 10; i++) times.push((await timed(() => range(i * width)))[1]);
  report('  and then, at the median', times.sort((a, b) => a - b)[4] ?? 0);
  const [top, topMs] = await timed(() => db.collection('orders').orderBy('created_at', 'desc').limit(20).get());
  report(`order by a field, limit ${top.size}`, topMs);
  const [count, countMs] = await timed(() => db.collection('orders').where('created_at', '>', 0).count().get());
  report(`count of ${count.data().count}`, countMs);
  let streamed = 0;
  const [, streamMs] = await timed(async () => {
    for await (const doc of db.collection('orders').stream()) if (doc) streamed++;
  });
  report(`stream() of ${streamed}`, streamMs, server.memory());

  const [, rounds] = await timed(async () => {
    for (let round = 0; round < 20; round++) {
      const ref = db.doc(`counters/${round}`);
      await ref.set({ n: 0 });
      const increment = (): Promise<void> =>
        db.runTransaction(async (transaction) => {
          transaction.update(ref, { n: ((await transaction.get(ref)).get('n') as number) + 1 });
        });
      await Promise.all(Array.from({ length: 50 }, increment));
      const sum = (await ref.get()).get('n') as number;
      if (sum !== 50) throw new Error(`the sum is ${sum}`);
    }
  });
  report('50 transactions on one document, 20 rounds, all exact', rounds);
  await db.terminate();
  await server.stop();

  server = await boot();
  report(`boot with ${LARGE + 10_000} documents in the folder`, server.bootMs, 'goal 500, as near as can be');
  db = connect();
  const [, readMs] = await timed(() => db.doc('orders/none').get());
  report('  the first touch of the large collection', readMs, server.memory());
  await db.terminate();
  await server.stop();

  await longestHold();
  rmSync(folder, { recursive: true });
}

/** How long big queries hold the event loop of a process that serves other things too. */
async function longestHold(): Promise<void> {
  const server = await startFirestore({ dataDir: folder });
  const client = new Firestore({ projectId: 'figures', host: server.address, ssl: false });
  await client.doc('orders/none').get();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await client.collection('orders').where('team_id', '==', 'team3').count().get();
  await client.collection('orders').orderBy('created_at', 'desc').limit(1).get();
  delay.disable();
  report('longest hold of the event loop in big queries', delay.max / 1e6, 'goal 20');
  await client.terminate();
  await server.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
