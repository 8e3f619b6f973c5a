import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Firestore } from '@google-cloud/firestore';

/*
 * npm run firestore:figures [-- --google 'gcloud emulators firestore start --host-port=127.0.0.1:8585']
 *
 * The figures of README.md: start, memory, commits, queries and contention, by the SDK against a server in processes of its own.
 * With the command that starts Google's emulator both stand side by side.
 */

const EMBEDDED = `${process.execPath} --import tsx packages/firestore-local/src/command.ts --port 8586`;
const DOCUMENTS = 100_000;
const BATCH = 500;
const WRITERS = 50;
const START_TIMEOUT_MS = 60_000;

interface Figures {
  'start to the first read, s': string;
  'memory idle, MB': string;
  'memory with 100,000 documents, MB': string;
  '100,000 documents in commits of 500, s': string;
  'one commit of 500, ms, median': string;
  'a query for 1,000 of them, ms, median': string;
  '50 increments of one document at once, s': string;
}

async function main(): Promise<void> {
  const { google } = parseArgs({ options: { google: { type: 'string' } } }).values;
  const columns: [string, Figures][] = [['firestore-local', await measure(EMBEDDED)]];
  if (google !== undefined) columns.push(['Google’s emulator', await measure(google)]);
  const names = Object.keys(columns[0]?.[1] ?? {}) as (keyof Figures)[];
  const line = (cells: readonly string[]) => console.log(`| ${cells.join(' | ')} |`);
  line(['', ...columns.map(([title]) => title)]);
  line(['---', ...columns.map(() => '---:')]);
  for (const name of names) line([name, ...columns.map(([, figures]) => figures[name])]);
}

async function measure(command: string): Promise<Figures> {
  const [program = '', ...args] = command.split(' ');
  const port = /\d+$/.exec(command)?.[0];
  if (port === undefined) throw new Error(`does not end with a port: ${command}`);
  const startedAt = performance.now();
  // A group of its own, since the command may start the server as another process.
  const server = spawn(program, args, { detached: true, stdio: 'ignore' });
  const group = server.pid;
  if (group === undefined) throw new Error(`cannot be started: ${program}`);
  const db = new Firestore({ projectId: 'figures', host: `127.0.0.1:${port}`, ssl: false });
  try {
    await awaitFirstRead(db);
    const startMs = performance.now() - startedAt;
    const idle = getResidentMegabytes(group);
    const commitMs = await fill(db);
    const filled = getResidentMegabytes(group);
    const queryMs: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      const from = performance.now();
      const { size } = await db.collection('orders').where('group', '==', i).get();
      if (size !== DOCUMENTS / 100) throw new Error(`the query found ${size} documents`);
      queryMs.push(performance.now() - from);
    }
    return {
      'start to the first read, s': (startMs / 1_000).toFixed(1),
      'memory idle, MB': idle.toFixed(0),
      'memory with 100,000 documents, MB': filled.toFixed(0),
      '100,000 documents in commits of 500, s': (commitMs.reduce((sum, ms) => sum + ms, 0) / 1_000).toFixed(1),
      'one commit of 500, ms, median': getMedian(commitMs).toFixed(0),
      'a query for 1,000 of them, ms, median': getMedian(queryMs).toFixed(0),
      '50 increments of one document at once, s': ((await measureContention(db)) / 1_000).toFixed(1),
    };
  } finally {
    await db.terminate();
    process.kill(-group, 'SIGTERM');
    await once(server, 'exit');
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

async function fill(db: Firestore): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < DOCUMENTS; at += BATCH) {
    const batch = db.batch();
    for (let i = at; i < at + BATCH; i += 1)
      batch.set(db.doc(`orders/${i}`), { group: i % 100, name: `Order ${i}`, created_at: 1_700_000_000_000 + i });
    const from = performance.now();
    await batch.commit();
    times.push(performance.now() - from);
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
  const from = performance.now();
  await Promise.all(Array.from({ length: WRITERS }, increment));
  const ms = performance.now() - from;
  const sum: unknown = (await counter.get()).get('n');
  if (sum !== WRITERS) throw new Error(`the sum is ${String(sum)}`);
  return ms;
}

function getMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Resident memory of all processes of a group. */
function getResidentMegabytes(group: number): number {
  const lines = execFileSync('ps', ['-A', '-o', 'pgid=,rss='], { encoding: 'utf8' }).trim().split('\n');
  const sizes = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return sizes.reduce((sum, [pgid, kilobytes = 0]) => (pgid === group ? sum + kilobytes / 1_024 : sum), 0);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
