import { Firestore } from 'firebase-admin/firestore';
import { startFirestore } from '../../../packages/firestore-local/src';
import { createDatabase } from '../../src/lib/firestore/database';
import { createWorkContext } from '../../src/lib/work-context';
import { LEASE_DURATION_MS } from '../../src/lib/time-limits';
import { sweep } from '../../src/price-lists/sweep';
import {
  DEPLOY_PACKAGE,
  PROJECT,
  startDeployedFunction,
  type DeployedFunction,
} from '../../../scripts/harness/deployed';
import { useFirestoreEmulator } from '../support/firestore';
import { sendRequest } from '../../../scripts/harness/http';
import { writeMarket } from '../support/price-lists';
import { parseSubmission } from '../support/submissions';
import { waitUntilFired } from '../support/wait-for';
import { createLabelledBody, holdUntilDeath, type CallName } from '../../../scripts/harness/creations';
import { checkInvariants } from './invariants';
import { monitorKeys } from './monitor';

/**
 * SIGKILL ends a process of the deployed package in the middle of five creations, each at a
 * different moment. The next process responds as the state of each key demands, and the sweep
 * completes the attempts that remain. In the schedules of ../simulation, processes can die at any call.
 */

const API_KEY = 'test-key-1';

type State = 'nothing' | 'a claim' | 'ready lists';

const cells = (
  [
    ['before', 'claim', 'nothing'],
    ['after', 'claim', 'a claim'],
    ['after', 'price entries, batch 1', 'a claim'],
    ['before', 'complete', 'a claim'],
    ['after', 'complete', 'ready lists'],
  ] satisfies [when: 'before' | 'after', name: CallName, left: State][]
).map(([when, name, left], i) => ({ label: `boq-${i}`, body: createLabelledBody(`boq-${i}`, 6), when, name, left }));

/** The status and the Idempotent-Replayed header of the next process's response, by what was left. */
const RESPONSES: Record<State, [status: number, replayed: string | undefined]> = {
  nothing: [200, undefined],
  'a claim': [409, undefined],
  'ready lists': [200, 'true'],
};

async function addPriceLists({ port }: DeployedFunction, json: unknown) {
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const response = await sendRequest(port, { method: 'POST', headers, body: JSON.stringify(json) });
  return [response.status, response.headers['idempotent-replayed']];
}

const ends: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

test('what a killed process leaves is nothing, ready lists or a claim that the sweep completes (express-idempotency #32)', async () => {
  // Firestore's clock is ahead of this machine's by this time. Once that is more than a lease, every lease has expired.
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const firestore = await startFirestore({ clock });
  ends.push(() => firestore.close());
  const endMonitor = monitorKeys(firestore);
  useFirestoreEmulator(firestore.address, PROJECT);
  const client = new Firestore({ projectId: PROJECT });
  ends.push(() => client.terminate());
  await writeMarket(client);
  const env = { API_KEY, FIRESTORE_EMULATOR_HOST: firestore.address, METADATA_SERVER_DETECTION: 'none' };
  const start = () => startDeployedFunction(DEPLOY_PACKAGE, 'addPriceLists', env);
  const [victim, next] = await Promise.all([start(), start()]);
  ends.push(victim.stop, next.stop);

  const { promise: died, resolve: tellDeath } = Promise.withResolvers<undefined>();
  const held = cells.map((cell) => holdUntilDeath(firestore, cell, died));
  const lost = cells.map(({ body }) => expect(addPriceLists(victim, body)).rejects.toThrow());
  await Promise.all(held.map((fault, i) => waitUntilFired(fault, Promise.resolve(lost[i]))));
  process.kill(victim.pid, 'SIGKILL');
  await Promise.all(lost);
  tellDeath(undefined);
  firestore.faults.clear();

  const responses = await Promise.all(cells.map(({ body }) => addPriceLists(next, body)));
  expect(responses).toEqual(cells.map(({ left }) => RESPONSES[left]));

  aheadMs = LEASE_DURATION_MS;
  const context = createWorkContext(new AbortController().signal);
  const swept: unknown[] = [];
  await sweep(createDatabase(client, context), context, {
    onResult: ({ result }, { boq_list_id }) => void swept.push([boq_list_id, result]),
    onUnreadable: (path) => void swept.push(path),
  });
  expect(swept.sort()).toEqual(cells.filter(({ left }) => left === 'a claim').map(({ label }) => [label, 'resumed']));

  const replays = await Promise.all(cells.map(({ body }) => addPriceLists(next, body)));
  expect(replays).toEqual(cells.map(() => [200, 'true']));
  await checkInvariants(
    client,
    cells.map(({ body }) => parseSubmission(body)),
  );
  expect(endMonitor).not.toThrow();
});
