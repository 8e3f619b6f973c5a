import assert from 'node:assert/strict';
import { join } from 'node:path';
import { keyDocumentId } from '../functions/src/lib/schemas/key-record';
import { startFirestore, type Call } from '../emulator/src';
import { BUILT_PACKAGE, PROJECT, startDeployedFunction, type DeployedFunction } from '../dev/run/deployed';
import { sendRequest } from '../dev/run/http';
import { runProgram } from '../dev/run/programs';
import type { ReceivedResponse } from '../dev/run/received-response';

/** Runs two versions of the service over one database, as in a rollout or a rollback. */

/** A version of the service, in a checkout that has been built. */
export interface Version {
  name: string;
  folder: string;
}

const API_KEY = 'rollout-key';
/** What `npx --no price-lists` runs in the checkout of a version. */
const COMMAND = 'command/bin/price-lists.mjs';
/** Longer than a lease of any version. */
const LEASE_MS = 10 * 60_000;

/** Creates a body with a product of its own for each key, so that a fault affects the entries of one key only. */
const createBody = (boq_list_id: string, info: object = {}) => ({
  info: { market_id: 'market-1', boq_list_id, currency_iso: 'usd', date: '06/2026', name: 'June', ...info },
  products: { [boq_list_id]: { price_list_price: 12.5, expected_forward_cost_price: 10 } },
});

type PriceListBody = ReturnType<typeof createBody>;

const writes =
  (part: string) =>
  ({ request }: Call<'Commit'>) =>
    request.writes.some(({ name }) => name.includes(part));
/** Matches a commit of the key other than its claim. */
const completes = (key: string) => (commit: Call<'Commit'>) =>
  writes(`/price_list_idempotency/${keyDocumentId(key)}`)(commit) && !writes('/price_list_requests/')(commit);

/** The attempts whose process is killed at a commit: the sweep resumes one, an operator releases one, and one has completed. */
const SWEPT = 'swept';
const RELEASED = 'released';
const COMPLETE = 'complete';
const KILLED = [
  { key: SWEPT, match: writes(`/products/${SWEPT}`), when: 'after' },
  { key: RELEASED, match: writes(`/products/${RELEASED}`), when: 'before' },
  { key: COMPLETE, match: completes(COMPLETE), when: 'after' },
] as const;

/** Makes a version replay, resume, sweep, release and audit the keys of another one. @throws Error if a step fails */
export async function checkHandover(from: Version, to: Version): Promise<void> {
  let aheadMs = 0;
  const firestore = await startFirestore({ clock: () => Date.now() + aheadMs });
  const env = {
    FIRESTORE_EMULATOR_HOST: firestore.address,
    GCLOUD_PROJECT: PROJECT,
    METADATA_SERVER_DETECTION: 'none',
  };
  const running: DeployedFunction[] = [];
  const start = async ({ folder }: Version) => {
    const started = await startDeployedFunction(join(folder, BUILT_PACKAGE), 'addPriceLists', { ...env, API_KEY });
    running.push(started);
    return started;
  };
  const runCommand = (...args: string[]) => runProgram(process.execPath, [COMMAND, ...args], { cwd: to.folder, env });
  try {
    const market = { name: { en: 'Egypt' }, country_iso: 'egy', currency_iso: 'egp' };
    await firestore.addIfEmpty(PROJECT, [{ collection: 'markets', id: 'market-1', data: market }]);
    const [elder, victim, heir] = [await start(from), await start(from), await start(to)];

    const withoutMarket = createBody('without-market', { market_id: 'nowhere' });
    await expectReplays(withoutMarket, [heir], await expectCreated(elder, withoutMarket));

    const failed = createBody('failed');
    firestore.faults.inject({
      rpc: 'Commit',
      match: writes('/products/failed'),
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    assert.equal((await send(elder, failed)).status, 500);
    await runCommand('resume', 'failed', '--yes', '--reason', 'rollout');
    await expectReplays(failed, [heir, elder]);

    const lost: Promise<string>[] = [];
    for (const { key, match, when } of KILLED) {
      const held = firestore.faults.inject({ rpc: 'Commit', match, when, action: { kind: 'hang' } });
      const response = send(victim, createBody(key)).then(describe, () => 'no response');
      lost.push(response);
      await Promise.race([held.fired, response.then((text) => assert.fail(text))]);
    }
    process.kill(victim.pid, 'SIGKILL');
    assert.deepEqual(await Promise.all(lost), Array(KILLED.length).fill('no response'));
    for (const key of [SWEPT, RELEASED]) assert.equal((await send(heir, createBody(key))).status, 409, key);

    aheadMs = LEASE_MS;
    await runCommand('release', RELEASED, '--yes', '--reason', 'rollout');
    await runCommand('sweep');
    for (const key of [SWEPT, COMPLETE]) await expectReplays(createBody(key), [heir, elder]);
    // Neither version accepts the first payload of a released key that another payload has claimed.
    const another = createBody(RELEASED, { name: 'another' });
    await expectReplays(another, [elder], await expectCreated(heir, another));
    for (const each of [elder, heir]) assert.equal((await send(each, createBody(RELEASED))).status, 409);
    await runCommand('audit');
  } finally {
    for (const { pid, alive } of running) if (alive()) process.kill(pid, 'SIGKILL');
    await firestore.close();
  }
}

async function expectCreated(running: DeployedFunction, body: PriceListBody): Promise<string> {
  const response = await send(running, body);
  assert.deepEqual([response.status, response.headers['idempotent-replayed']], [200, undefined], describe(response));
  return response.text;
}

/** Checks that each process replays the same bytes for a body, and rejects another payload. @param first the text of the response that created it */
async function expectReplays(body: PriceListBody, processes: DeployedFunction[], first?: string): Promise<void> {
  let text = first;
  for (const each of processes) {
    const replay = await send(each, body);
    assert.deepEqual([replay.status, replay.headers['idempotent-replayed']], [200, 'true'], describe(replay));
    text ??= replay.text;
    assert.equal(replay.text, text);
    const other = { ...body, info: { ...body.info, name: `not ${body.info.name}` } };
    assert.equal((await send(each, other)).status, 409, `${body.info.boq_list_id} keeps its payload`);
  }
}

const send = ({ port }: DeployedFunction, body: PriceListBody): Promise<ReceivedResponse> =>
  sendRequest(port, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const describe = ({ status, text }: ReceivedResponse): string => `${status} ${text}`;
