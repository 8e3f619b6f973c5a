import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Firestore } from '@google-cloud/firestore';
import { startFirestore } from '../src';

/*
 * npm run firestore -- figures [--google 'gcloud emulators firestore start --host-port=127.0.0.1:8585']
 *
 * The figures of README.md, by the SDK against a server in processes of its own: the embedded Firestore in memory and with its data
 * on disk. With the command that starts Google's emulator, or any other Firestore, all stand side by side.
 */

const EMBEDDED = `${process.execPath} --import tsx packages/firestore-local/src/command.ts`;
const PORT = 8586;
const DOCUMENTS = 100_000;
const BATCH = 500;
const GROUPS = 100;
const QUERIES = 9;
const WRITERS = 50;
const START_TIMEOUT_MS = 60_000;

const FIGURES = {
  start: 'start to the first read',
  idleMemory: 'memory idle',
  fill: '100,000 documents in commits of 500',
  commit: 'one commit of 500, median',
  filledMemory: 'memory with 100,000 documents',
  firstQuery: 'the first query for 1,000 of them',
  query: 'a query for 1,000 of them, median',
  range: 'an equality with a range, 100 of them, median',
  order: 'the first 20 in the order of a field, median',
  count: 'a count of 100,000',
  stream: 'a stream of 100,000',
  contention: '50 increments of one document at once',
  restart: 'start with 100,000 documents on disk',
  hold: 'longest hold of the event loop in big queries',
} as const;

/** What was measured, with its unit. */
type Figures = Partial<Record<keyof typeof FIGURES, string>>;

async function main(): Promise<void> {
  const { google } = parseArgs({ options: { google: { type: 'string' } } }).values;
  const columns: [title: string, figures: Figures][] = [
    ['in memory', await measure(`${EMBEDDED} --port ${PORT}`)],
    ['on disk', await measureOnDisk()],
  ];
  if (google !== undefined) columns.push(['Google’s emulator', await measure(google)]);
  const print = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);
  print(['', ...columns.map(([title]) => title)]);
  print(['---', ...columns.map(() => '---:')]);
  for (const [name, title] of Object.entries(FIGURES)) {
    print([title, ...columns.map(([, figures]) => figures[name as keyof Figures] ?? '–')]);
  }
}

async function measure(command: string): Promise<Figures> {
  const server = await start(command);
  const { db } = server;
  try {
    const idleMemory = server.getMemory();
    const commits = await fill(db);
    const filledMemory = server.getMemory();
    const orders = db.collection('orders');
    const firstQuery = await timeQuery(orders.where('group', '==', 0), DOCUMENTS / GROUPS);
    return {
      start: formatSeconds(server.startMs),
      idleMemory,
      fill: formatSeconds(commits.reduce((sum, ms) => sum + ms, 0)),
      commit: formatMs(getMedian(commits)),
      filledMemory,
      firstQuery: formatMs(firstQuery),
      query: await measureQueries(DOCUMENTS / GROUPS, (i) => orders.where('group', '==', i)),
      range: await measureQueries(GROUPS, (i) =>
        orders
          .where('group', '==', i)
          .where('created_at', '>=', 0)
          .where('created_at', '<', GROUPS * GROUPS),
      ),
      order: await measureQueries(20, () => orders.orderBy('created_at', 'desc').limit(20)),
      count: formatMs(await time(() => orders.where('created_at', '>=', 0).count().get())),
      stream: formatMs(await timeQuery(orders, DOCUMENTS)),
      contention: formatSeconds(await measureContention(db)),
    };
  } finally {
    await server.stop();
  }
}

/** Measures the embedded Firestore with its data on disk, and what only it can be asked. */
async function measureOnDisk(): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'firestore-figures-'));
  const command = `${EMBEDDED} --data ${folder} --port ${PORT}`;
  try {
    const figures = await measure(command);
    const again = await start(command);
    await again.stop();
    return { ...figures, restart: formatSeconds(again.startMs), hold: formatMs(await measureHold(folder)) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface RunningServer {
  readonly db: Firestore;
  readonly startMs: number;
  /** Resident memory of all its processes. */
  readonly getMemory: () => string;
  readonly stop: () => Promise<void>;
}

/** Starts a server by a command that ends with its port, and waits for the first read. */
async function start(command: string): Promise<RunningServer> {
  const [program = '', ...args] = command.split(' ');
  const port = /\d+$/.exec(command)?.[0];
  if (port === undefined) throw new Error(`does not end with a port: ${command}`);
  const startedAt = performance.now();
  // A group of its own, since the command may start the server as another process.
  const server = spawn(program, args, { detached: true, stdio: 'ignore' });
  const group = server.pid;
  if (group === undefined) throw new Error(`cannot be started: ${program}`);
  const db = new Firestore({ projectId: 'figures', host: `127.0.0.1:${port}`, ssl: false });
  const stop = async (): Promise<void> => {
    await db.terminate();
    process.kill(-group, 'SIGTERM');
    await once(server, 'exit');
  };
  try {
    await awaitListening(Number(port));
    await awaitFirstRead(db);
  } catch (error) {
    await stop();
    throw error;
  }
  return { db, startMs: performance.now() - startedAt, getMemory: () => getMemory(group), stop };
}

/** Waits for a port to open. A client of the SDK that finds it closed would wait a second before it looks again. */
async function awaitListening(port: number): Promise<void> {
  for (const until = performance.now() + START_TIMEOUT_MS; performance.now() < until;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await delay(10);
  }
}

async function awaitFirstRead(db: Firestore): Promise<void> {
  for (const until = performance.now() + START_TIMEOUT_MS; performance.now() < until;) {
    const read = db.doc('orders/none').get();
    const isRead = await Promise.race([read.then(() => true), delay(1_000).then(() => false)]).catch(() => false);
    if (isRead) return;
    await delay(20);
  }
  throw new Error(`nothing responds within ${START_TIMEOUT_MS / 1_000} s`);
}

/** Returns how long each commit took. */
async function fill(db: Firestore): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < DOCUMENTS; at += BATCH) {
    const batch = db.batch();
    for (let i = at; i < at + BATCH; i += 1)
      batch.set(db.doc(`orders/${i}`), { group: i % GROUPS, name: `Order ${i}`, created_at: i });
    times.push(await time(() => batch.commit()));
  }
  return times;
}

async function measureQueries(expected: number, toQuery: (i: number) => FirebaseFirestore.Query): Promise<string> {
  const times: number[] = [];
  for (let i = 1; i <= QUERIES; i += 1) times.push(await timeQuery(toQuery(i), expected));
  return formatMs(getMedian(times));
}

async function timeQuery(query: FirebaseFirestore.Query, expected: number): Promise<number> {
  let found = 0;
  const ms = await time(async () => {
    for await (const document of query.stream()) if (document) found += 1;
  });
  if (found !== expected) throw new Error(`a query found ${found} documents, not ${expected}`);
  return ms;
}

/** How long transactions take that all increment one document. Their sum has to be exact. */
async function measureContention(db: Firestore): Promise<number> {
  const counter = db.doc('counters/one');
  await counter.set({ n: 0 });
  const increment = () =>
    db.runTransaction(
      async (transaction) => {
        const { n } = (await transaction.get(counter)).data() as { n: number };
        transaction.update(counter, { n: n + 1 });
      },
      { maxAttempts: 100 },
    );
  const ms = await time(() => Promise.all(Array.from({ length: WRITERS }, increment)));
  const sum: unknown = (await counter.get()).get('n');
  if (sum !== WRITERS) throw new Error(`the sum is ${String(sum)}`);
  return ms;
}

/** How long big queries hold the event loop of a process that serves other things too. */
async function measureHold(dataDir: string): Promise<number> {
  const server = await startFirestore({ dataDir });
  const db = new Firestore({ projectId: 'figures', host: server.address, ssl: false });
  await db.doc('orders/none').get();
  const eventLoop = monitorEventLoopDelay({ resolution: 1 });
  eventLoop.enable();
  await db.collection('orders').where('group', '==', 3).count().get();
  await db.collection('orders').orderBy('created_at', 'desc').limit(1).get();
  eventLoop.disable();
  await db.terminate();
  await server.close();
  return eventLoop.max / 1e6;
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const getMedian = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Resident memory of all processes of a group. */
function getMemory(group: number): string {
  const lines = execFileSync('ps', ['-A', '-o', 'pgid=,rss='], { encoding: 'utf8' }).trim().split('\n');
  const sizes = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const kilobytes = sizes.reduce((sum, [pgid, size = 0]) => (pgid === group ? sum + size : sum), 0);
  return `${(kilobytes / 1_024).toFixed(0)} MB`;
}

const formatMs = (ms: number): string => `${ms.toFixed(0)} ms`;

const formatSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
