import assert from 'node:assert/strict';
import { join } from 'node:path';
import { startFirestore } from '../../packages/firestore-local/src';
import { createLabelledBody, holdUntilDeath, type Moment } from './creations';
import { BUILT_PACKAGE, PROJECT, startDeployedFunction, type DeployedFunction } from './deployed';
import { sendRequest } from './http';
import { runProgram } from './programs';
import type { ReceivedResponse } from './received-response';

/** Runs two versions of the service over one database, as in a rollout or a rollback. */

type PriceListBody = ReturnType<typeof createLabelledBody>;

/** A version of the service, in a checkout that has been built. */
export interface Version {
  name: string;
  folder: string;
}

const API_KEY = 'rollout-key';
/** What `npx --no price-lists` runs in the checkout of a version. */
const COMMAND = 'functions/bin/price-lists.mjs';
/** Makes two batches for each list, as {@link holdUntilDeath} expects. */
const PRODUCTS = 501;
/** Longer than a lease of any version. */
const LEASE_MS = 10 * 60_000;

const createBody = (label: string, info: Partial<PriceListBody['info']> = {}): PriceListBody => {
  const body = createLabelledBody(label, PRODUCTS);
  return { ...body, info: { ...body.info, ...info } };
};

/** The attempts whose process is killed: the sweep resumes one, an operator releases one, and one is complete. */
const SWEPT: Moment = { label: 'swept', name: 'price entries, batch 1', when: 'after' };
const RELEASED: Moment = { label: 'released', name: 'cost entries, batch 2', when: 'before' };
const COMPLETE: Moment = { label: 'complete', name: 'complete', when: 'after' };
const KILLED = [SWEPT, RELEASED, COMPLETE];

/** Makes a version replay, resume, sweep, release and audit the keys of another one. @throws Error unless it can */
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
      match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
      action: { kind: 'error', code: 'PERMISSION_DENIED' },
    });
    assert.equal((await send(elder, failed)).status, 500);
    await runCommand('resume', 'failed', '--yes', '--reason', 'rollout');
    await expectReplays(failed, [heir, elder]);

    const died = Promise.withResolvers<undefined>();
    const held = KILLED.map((moment) => holdUntilDeath(firestore, moment, died.promise));
    const lost = KILLED.map(({ label }) => send(victim, createBody(label)).then(describe, () => 'no response'));
    await Promise.race([
      Promise.all(held.map(({ fired }) => fired)),
      Promise.race(lost).then((response) => assert.fail(response)),
    ]);
    process.kill(victim.pid, 'SIGKILL');
    assert.deepEqual(await Promise.all(lost), Array(KILLED.length).fill('no response'));
    died.resolve(undefined);
    firestore.faults.clear();
    for (const { label } of [SWEPT, RELEASED]) assert.equal((await send(heir, createBody(label))).status, 409, label);

    aheadMs = LEASE_MS;
    await runCommand('release', RELEASED.label, '--yes', '--reason', 'rollout');
    await runCommand('sweep');
    for (const { label } of [SWEPT, COMPLETE]) await expectReplays(createBody(label), [heir, elder]);
    // Neither version accepts the first payload of a released key that another payload has claimed.
    const another = createBody(RELEASED.label, { name: 'another' });
    await expectReplays(another, [elder], await expectCreated(heir, another));
    for (const each of [elder, heir]) assert.equal((await send(each, createBody(RELEASED.label))).status, 409);
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

/** Checks that each process replays the same bytes for a body, and rejects another payload. @param first the first response */
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
