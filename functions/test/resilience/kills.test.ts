import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore, type InjectedFault } from '../../../packages/firestore-local/src';
import { forkProgram } from '../../../test/support/programs';
import type { KeyRecord } from '../../src/lib/schemas/key-record';
import { sendRequest } from '../support/http';
import { writeMarket } from '../support/price-lists';
import type { ReceivedResponse } from '../support/received-response';
import { parseSubmission } from '../support/submissions';
import { bundleProgram, getBundleVariables } from './bundle';
import { CREATION_CALLS, TEST_BATCH, createLabelledBody, holdUntilDeath, useTestBatches, type CallName } from './calls';
import { checkInvariants } from './invariants';
import { monitorKeys } from './monitor';
import { RESOLVED_AFTER_MS, resolveAfterLease } from './resolving';

/**
 * The kill matrix: a process of the function is killed with SIGKILL in the middle of creations,
 * each of which has come to another call, before it takes effect or after. The next process must
 * respond as the state of each key demands, and from every state a way must lead to lists that are
 * ready.
 */

const KEY = 'test-key';
const PROJECT = 'kills';

/** A process that serves add price lists. */
interface Host {
  process: ChildProcess;
  addPriceLists: (json: unknown) => Promise<ReceivedResponse>;
}

const WAYS_OUT = ['resume', 'release', 'sweep'] as const;

type State = 'nothing' | 'a claim' | 'ready lists';

/** What is left of an attempt that was killed at a call: nothing, a claim whose lease must expire, or everything. */
function leftAt(name: CallName, when: 'before' | 'after'): State {
  const index = CREATION_CALLS.indexOf(name) + (when === 'after' ? 1 : 0);
  if (index <= CREATION_CALLS.indexOf('claim')) return 'nothing';
  return index === CREATION_CALLS.length ? 'ready lists' : 'a claim';
}

const cells = CREATION_CALLS.flatMap((name) => [
  { name, when: 'before', left: leftAt(name, 'before') } as const,
  { name, when: 'after', left: leftAt(name, 'after') } as const,
]).map((cell, i) => {
  const label = `${cell.when}-${cell.name}`.replace(/\W+/g, '-');
  // Each way out of a claim, for a third of the cells.
  return { ...cell, label, body: createLabelledBody(label), wayOut: WAYS_OUT[i % WAYS_OUT.length] ?? 'resume' };
});

let folder: string;
let firestore: EmbeddedFirestore;
let db: Firestore;
let victim: Host;
let host: Host;
const struck = new Map<string, InjectedFault>();
/** What the next process responded to each request, and the keys after that. */
const retries = new Map<string, ReceivedResponse>();
let records: Map<string, KeyRecord>;
let endMonitor: ReturnType<typeof monitorKeys>;
/** By how much the present operator's clock is ahead of this machine's. */
let aheadMs = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kills-'));
  const program = join(folder, 'host.cjs');
  await bundleProgram('functions/test/resilience/host.ts', program, { MAX_ENTRIES_PER_COMMIT: TEST_BATCH });
  useTestBatches();
  firestore = await startFirestore();
  endMonitor = monitorKeys(firestore, () => Date.now() + aheadMs);
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  process.env['GCLOUD_PROJECT'] = PROJECT;
  db = new Firestore({ projectId: PROJECT });
  await writeMarket(db);
  [victim, host] = await Promise.all([startHost(), startHost()]);
  await kill();
  for (const { label, body } of cells) retries.set(label, await host.addPriceLists(body));
  records = await check();
}, 300_000);

afterAll(async () => {
  for (const { process } of [victim, host]) process.kill('SIGKILL');
  await db.terminate();
  await firestore.close();
  rmSync(folder, { recursive: true });
});

async function startHost(): Promise<Host> {
  const child = forkProgram(join(folder, 'host.cjs'), { ...getBundleVariables(), API_KEY: KEY });
  const [port] = (await once(child, 'message')) as [number];
  const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };
  return {
    process: child,
    addPriceLists: (json) => sendRequest(port, { method: 'POST', headers, body: JSON.stringify(json) }),
  };
}

const check = () =>
  checkInvariants(
    db,
    cells.map(({ body }) => parseSubmission(body)),
  );

/** Kills the process of all creations once each has come to the call of its cell. */
async function kill(): Promise<void> {
  const died = once(victim.process, 'exit');
  for (const cell of cells) struck.set(cell.label, holdUntilDeath(firestore, cell, died));
  const lost = cells.map(({ body }) => expect(victim.addPriceLists(body)).rejects.toThrow());
  await Promise.all([...struck.values()].map(({ fired }) => fired));
  victim.process.kill('SIGKILL');
  await Promise.all([died, ...lost]);
  firestore.faults.clear();
}

test('the process was killed once in the middle of every creation', () => {
  expect(victim.process.signalCode).toBe('SIGKILL');
  expect(cells.map(({ label }) => struck.get(label)?.count)).toEqual(cells.map(() => 1));
});

// A sweep resolves every key of which no one else has: it comes last.
const bySweepLast = [...cells].sort((a, b) => WAYS_OUT.indexOf(a.wayOut) - WAYS_OUT.indexOf(b.wayOut));

test.each(bySweepLast)(
  'killed $when: $name, it leaves $left (express-idempotency #32)',
  async ({ left, label, body, wayOut }) => {
    const retry = retries.get(label);
    switch (left) {
      case 'nothing':
        expect([retry?.status, retry?.headers['idempotent-replayed']]).toEqual([200, undefined]);
        break;
      case 'ready lists':
        expect([retry?.status, retry?.headers['idempotent-replayed']]).toEqual([200, 'true']);
        break;
      case 'a claim': {
        expect(retry?.status).toBe(409);
        expect(Number(retry?.headers['retry-after'])).toBeGreaterThan(0);
        expect(records.get(label)?.status).toBe('processing');
        aheadMs = RESOLVED_AFTER_MS;
        await resolveAfterLease(db, wayOut, label);
        aheadMs = 0;
        const resolved = await host.addPriceLists(body);
        expect([resolved.status, resolved.headers['idempotent-replayed']]).toEqual([
          200,
          wayOut === 'release' ? undefined : 'true',
        ]);
        break;
      }
    }
    const last = await host.addPriceLists(body);
    expect([last.status, last.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect((await check()).get(label)?.status).toBe('completed');
  },
);

test('every commit was a legal move of a key', () => {
  expect(endMonitor).not.toThrow();
});
