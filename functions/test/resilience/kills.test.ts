import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../local/firestore/index';
import { sendRequest } from '../support/http';
import { parseSubmission } from '../support/submissions';
import { bundleProgram, bundleEnvironment } from './bundle';
import { CREATION_CALLS, createLabelledBody, identifyCall, getRpc, type CallName } from './calls';
import { checkInvariants } from './invariants';
import { resolveAfterLease } from './resolving';

/**
 * The kill matrix: a process of the function is killed with SIGKILL at each call of a creation, before the call takes
 * effect and after. The next process must respond as the state of the key demands, and from every
 * state a way must lead to lists that are ready.
 */

const KEY = 'test-key';
const PROJECT = 'kills';

let folder: string;
let firestore: EmbeddedFirestore;
let db: Firestore;
let host: Host;

/** A process that serves add price lists. */
interface Host {
  process: ChildProcess;
  addPriceLists: (json: unknown) => ReturnType<typeof sendRequest>;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kills-'));
  await bundleProgram('functions/test/resilience/host.ts', join(folder, 'host.cjs'));
  firestore = await startFirestore();
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  process.env['GCLOUD_PROJECT'] = PROJECT;
  db = new Firestore({ projectId: PROJECT });
  host = await startHost();
}, 60_000);

afterAll(async () => {
  host.process.kill('SIGKILL');
  await db.terminate();
  await firestore.close();
  rmSync(folder, { recursive: true });
});

async function startHost(): Promise<Host> {
  const env = { ...bundleEnvironment(), GCLOUD_PROJECT: PROJECT, API_KEY: KEY, METADATA_SERVER_DETECTION: 'none' };
  const child = fork(join(folder, 'host.cjs'), { env, execArgv: [], silent: true });
  const [port] = (await once(child, 'message')) as [number];
  const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };
  return {
    process: child,
    addPriceLists: (json) => sendRequest(port, { method: 'POST', headers, body: JSON.stringify(json) }),
  };
}

/** What is left of an attempt that was killed at a call: nothing, a claim whose lease must expire, or everything. */
function leftAt(name: CallName, when: 'before' | 'after'): 'nothing' | 'a claim' | 'ready lists' {
  const index = CREATION_CALLS.indexOf(name) + (when === 'after' ? 1 : 0);
  if (index <= CREATION_CALLS.indexOf('claim')) return 'nothing';
  return index === CREATION_CALLS.length ? 'ready lists' : 'a claim';
}

const WAYS_OUT = ['resume', 'release', 'sweep'] as const;

const cells = CREATION_CALLS.flatMap((name) =>
  (['before', 'after'] as const).map((when) => [when, name, leftAt(name, when)] as const),
);

test.each(cells)(
  'killed %s: %s, it leaves %s',
  async (when, name, left) => {
    firestore.clear();
    await db.doc('markets/market-1').set({ name: { en: 'Egypt' }, country_iso: 'egy', currency_iso: 'egp' });
    const label = 'killed';
    const body = createLabelledBody(label);
    const submission = parseSubmission(body);

    const victim = host.process;
    const died = once(victim, 'exit');
    const struck = firestore.faults.inject({
      rpc: getRpc(name),
      match: (call) => identifyCall(label, call) === name,
      when,
      // A call of a process that is gone goes no further than it has come.
      action: {
        kind: 'call',
        run: async () => {
          victim.kill('SIGKILL');
          await died;
        },
      },
    });
    if (when === 'before') {
      firestore.faults.inject({
        rpc: getRpc(name),
        match: (call) => identifyCall(label, call) === name,
        action: { kind: 'drop' },
      });
    }
    await expect(host.addPriceLists(body)).rejects.toThrow();
    await died;
    expect([struck.count, victim.signalCode]).toEqual([1, 'SIGKILL']);

    host = await startHost();
    const retry = await host.addPriceLists(body);
    const records = await checkInvariants(db, [submission]);
    switch (left) {
      case 'nothing':
        expect([retry.status, retry.headers['idempotent-replayed']]).toEqual([200, undefined]);
        break;
      case 'ready lists':
        expect([retry.status, retry.headers['idempotent-replayed']]).toEqual([200, 'true']);
        break;
      case 'a claim': {
        expect(retry.status).toBe(409);
        expect(Number(retry.headers['retry-after'])).toBeGreaterThan(0);
        expect(records.get(label)?.status).toBe('processing');
        // Each way out of it, for a third of the cells.
        const how = WAYS_OUT[cells.findIndex((cell) => cell[0] === when && cell[1] === name) % 3] ?? 'resume';
        await resolveAfterLease(db, how, label);
        const resolved = await host.addPriceLists(body);
        expect([resolved.status, resolved.headers['idempotent-replayed']]).toEqual([
          200,
          how === 'release' ? undefined : 'true',
        ]);
        break;
      }
    }
    const last = await host.addPriceLists(body);
    expect([last.status, last.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect((await checkInvariants(db, [submission])).get(label)?.status).toBe('completed');
  },
  30_000,
);
