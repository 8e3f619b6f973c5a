import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Firestore } from '@google-cloud/firestore';

/*
 * npm run firestore -- figures [--google COMMAND]
 *
 * The figures of README.md, by the SDK against a server in processes of its own: the embedded
 * Firestore with its data on disk and, where a command to start it is given, Google's emulator.
 */

const EMBEDDED = `${process.execPath} --import tsx packages/firestore-local/src/command.ts`;
const PORT = 8586;
const DOCUMENTS = 100_000;
const BATCH = 500;
const GROUPS = 100;
const QUERIES = 9;
const WRITERS = 50;
const START_TIMEOUT_MS = 60_000;

/** What is measured, in the order of the table. */
const FIGURES = {
  start: 'start to the first read',
  idleMemory: 'memory idle',
  filledMemory: 'memory with 100,000 documents',
  fill: '100,000 documents in commits of 500',
  commit: 'one commit of 500, median',
  query: 'a query for 1,000 of them, median',
  contention: '50 increments of one document at once',
} as const;

/** What was measured, with its unit. */
type Figures = Record<keyof typeof FIGURES, string>;

const { google } = parseArgs({ options: { google: { type: 'string' } } }).values;

async function main(): Promise<void> {
  const columns: [title: string, figures: Figures][] = [['firestore-local', await measureEmbedded()]];
  if (google !== undefined) columns.push(['Google’s emulator', await measure(google)]);
  const print = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);
  print(['', ...columns.map(([title]) => title)]);
  print(['---', ...columns.map(() => '---:')]);
  for (const [name, title] of Object.entries(FIGURES)) {
    print([title, ...columns.map(([, figures]) => figures[name as keyof Figures])]);
  }
}

async function measureEmbedded(): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'firestore-figures-'));
  try {
    return await measure(`${EMBEDDED} --data ${folder} --port ${PORT}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(command: string): Promise<Figures> {
  const server = await start(command);
  const { db } = server;
  try {
    const idleMemory = server.getMemory();
    const commits = await fill(db);
    const filledMemory = server.getMemory();
    return {
      start: formatSeconds(server.startMs),
      idleMemory,
      filledMemory,
      fill: formatSeconds(commits.reduce((sum, ms) => sum + ms, 0)),
      commit: formatMs(getMedian(commits)),
      query: formatMs(getMedian(await measureQueries(db))),
      contention: formatSeconds(await measureContention(db)),
    };
  } finally {
    await server.stop();
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
    await db.doc('orders/none').get();
  } catch (error) {
    await stop();
    throw error;
  }
  return { db, startMs: performance.now() - startedAt, getMemory: () => getMemory(group), stop };
}

/** Waits for a port to open: a client that found it closed would wait a second. */
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
  throw new Error(`nothing listens within ${START_TIMEOUT_MS / 1_000} s`);
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

/** Returns how long each query took, which finds one document of each hundred. */
async function measureQueries(db: Firestore): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < QUERIES; i += 1) {
    const query = db.collection('orders').where('group', '==', i);
    times.push(
      await time(async () => {
        const { size } = await query.get();
        if (size !== DOCUMENTS / GROUPS) throw new Error(`a query found ${size} documents`);
      }),
    );
  }
  return times;
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

async function time(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const getMedian = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Resident memory of all processes of a group. */
function getMemory(group: number): string {
  const lines = execFileSync('ps', ['-A', '-o', 'pgid=,rss='], { encoding: 'utf8' }).trim();
  const sizes = lines.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const kilobytes = sizes.reduce((sum, [pgid, size = 0]) => (pgid === group ? sum + size : sum), 0);
  return `${(kilobytes / 1_024).toFixed(0)} MB`;
}

const formatMs = (ms: number): string => `${ms.toFixed(0)} ms`;

const formatSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
