import { Database } from '../../functions/src/lib/firestore/database';
import { createWorkContext } from '../../functions/src/lib/work-context';
import { LEASE_DURATION_MS } from '../../functions/src/lib/time-limits';
import { sweep } from '../../functions/src/price-lists/sweep';
import { isClaim, isEntries, isKeyEvent } from '../harness/commits';
import { sendTo, startDeployedPackage } from '../harness/deployed-package';
import { createPriceListBody, parseSubmission } from '../harness/submissions';
import { waitUntilFired } from '../harness/wait-for';
import { checkInvariants } from '../harness/invariants';
import { KeyMonitor } from '../harness/monitor';

/**
 * SIGKILL ends a process of the deployed package in the middle of five creations, each at a
 * different moment. The next process responds as the state of each key demands, and the sweep
 * completes the attempts that remain. In the schedules of ../simulation, processes can die at any call.
 */

/** The status and the Idempotent-Replayed header of the next process's response, by what the killed process left. */
const NOTHING = [200, undefined];
const CLAIM = [409, undefined];
const READY = [200, 'true'];

const cells = (
  [
    ['before', isClaim, NOTHING],
    ['after', isClaim, CLAIM],
    ['after', isEntries, CLAIM],
    ['before', isKeyEvent, CLAIM],
    ['after', isKeyEvent, READY],
  ] as const
).map(([when, match, left], i) => ({ body: createPriceListBody(6, { boq_list_id: `boq-${i}` }), when, match, left }));

test('what a killed process leaves is nothing, ready lists or an attempt that the sweep completes', async () => {
  // How far Firestore's clock is ahead of this machine's. Once it is ahead by the duration of a lease, every lease has expired.
  let aheadMs = 0;
  const deployed = await startDeployedPackage({ clock: () => Date.now() + aheadMs });
  const { firestore, db } = deployed;
  const violations: unknown[] = [];
  const monitor = new KeyMonitor(firestore, (error) => violations.push(error));
  const [victim, next] = await Promise.all([deployed.start('addPriceLists'), deployed.start('addPriceLists')]);
  const send = async (body: object) => {
    const { status, headers } = await sendTo(next, 'addPriceLists', body);
    return [status, headers['idempotent-replayed']];
  };

  const lost: Promise<void>[] = [];
  for (const { body, when, match } of cells) {
    const held = firestore.faults.inject({ rpc: 'Commit', match, when, action: { kind: 'hang' } });
    const response = expect(sendTo(victim, 'addPriceLists', body)).rejects.toThrow();
    lost.push(response);
    await waitUntilFired(held, response);
  }
  process.kill(victim.pid, 'SIGKILL');
  await Promise.all(lost);

  const responses = await Promise.all(cells.map(({ body }) => send(body)));
  expect(responses).toEqual(cells.map(({ left }) => left));

  aheadMs = LEASE_DURATION_MS;
  const context = createWorkContext(new AbortController().signal);
  const swept: unknown[] = [];
  await sweep(new Database(db, context), {
    onResult: ({ result }, { boq_list_id }) => void swept.push([boq_list_id, result]),
    onUnreadable: (path) => void swept.push(path),
  });
  const claimed = cells.filter(({ left }) => left === CLAIM);
  expect(swept.sort()).toEqual(claimed.map(({ body }) => [body.info.boq_list_id, 'resumed']));

  const replays = await Promise.all(cells.map(({ body }) => send(body)));
  expect(replays).toEqual(cells.map(() => READY));
  await checkInvariants(
    db,
    cells.map(({ body }) => parseSubmission(body)),
  );
  monitor.stop();
  expect(violations).toEqual([]);
  await deployed.close();
});
