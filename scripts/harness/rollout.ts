import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../packages/firestore-local/src';
import { createLabelledBody, holdUntilDeath, type Moment } from './creations';
import { BUILT_PACKAGE, PROJECT, startDeployedFunction, type DeployedFunction } from './deployed';
import { sendRequest } from './http';
import { runProgram } from './programs';
import type { ReceivedResponse } from './received-response';

/** Runs two versions of the service over one database, with real leases, as in a rollout or a rollback. */

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

/** The points at which the process of an attempt is killed, and how each key is resolved. */
const KILLED: readonly (Moment & { wayOut: 'sweep' | 'resume' | 'release' | 'none' })[] = [
  { label: 'claimed', name: 'claim', when: 'after', wayOut: 'sweep' },
  { label: 'half-written', name: 'price entries, batch 1', when: 'after', wayOut: 'resume' },
  { label: 'written', name: 'complete', when: 'before', wayOut: 'sweep' },
  { label: 'given-up', name: 'cost entries, batch 2', when: 'before', wayOut: 'release' },
  { label: 'unseen', name: 'complete', when: 'after', wayOut: 'none' },
];

/** Makes a version replay, resume, sweep and release the keys of another one. @throws Error that names the versions */
export async function checkHandover(from: Version, to: Version, print: (line: string) => void): Promise<void> {
  const firestore = await startFirestore();
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  const handover = new Handover(firestore, from, to, (text) => print(`${from.name} → ${to.name}: ${text}`));
  try {
    await handover.run();
  } catch (error) {
    throw new Error(`${from.name} → ${to.name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    await handover.end();
    await firestore.close();
  }
}

class Handover {
  readonly #db = new Firestore({ projectId: PROJECT });
  readonly #processes: DeployedFunction[] = [];
  readonly #bodies: PriceListBody[] = [];

  constructor(
    private readonly firestore: EmbeddedFirestore,
    private readonly from: Version,
    private readonly to: Version,
    private readonly print: (text: string) => void,
  ) {}

  async run(): Promise<void> {
    await this.#db.doc('markets/market-1').set({ name: { en: 'Egypt' }, country_iso: 'egy', currency_iso: 'egp' });
    const [elder, victim, heir] = await Promise.all([
      this.#start(this.from),
      this.#start(this.from),
      this.#start(this.to),
    ]);
    await this.#replayWithoutMarket(elder, heir);
    await this.#sweepStopped(heir);
    await this.#kill(victim);
    await this.#recoverKilled(elder, heir);
    await this.#command(this.to, 'audit');
    this.print('the audit finds all records consistent');
  }

  async end(): Promise<void> {
    for (const { pid, alive } of this.#processes) if (alive()) process.kill(pid, 'SIGKILL');
    await this.#db.terminate();
  }

  /** Replays a key without lists, because its market does not exist. */
  async #replayWithoutMarket(elder: DeployedFunction, heir: DeployedFunction): Promise<void> {
    const body = this.#createBody('without-market', { market_id: 'nowhere' });
    const first = await send(elder, body);
    assert.equal(first.status, 200, describe(first));
    await this.#expectReplays(body, [heir], first);
    this.print('a key without a market is replayed');
  }

  /** Sweeps a key after its instance was stopped and failed the attempt. The sweep need not wait for the lease. */
  async #sweepStopped(heir: DeployedFunction): Promise<void> {
    const body = this.#createBody('stopped');
    const stopping = await this.#start(this.from);
    this.firestore.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
      action: {
        kind: 'call',
        run: async () => {
          process.kill(stopping.pid, 'SIGTERM');
          // The instance aborts its writes after 5 s.
          await delay(6_000);
        },
      },
    });
    const response = await send(stopping, body);
    assert.equal(response.status, 500, describe(response));
    await this.#sweep(this.to);
    await this.#expectReplays(body, [heir]);
    this.print('an attempt that a rollout stopped is swept at once');
  }

  async #kill(victim: DeployedFunction): Promise<void> {
    const { promise: died, resolve } = Promise.withResolvers<undefined>();
    const held = KILLED.map((moment) => holdUntilDeath(this.firestore, moment, died));
    const lost = KILLED.map(({ label }) =>
      send(victim, this.#createBody(label)).then(
        (response) => `${label}: ${describe(response)}`,
        () => null,
      ),
    );
    const early = Promise.race(lost).then((response) =>
      assert.fail(`the process was to be killed, not to return ${response}`),
    );
    await Promise.race([Promise.all(held.map(({ fired }) => fired)), early]);
    process.kill(victim.pid, 'SIGKILL');
    await Promise.all(lost);
    resolve(undefined);
    this.firestore.faults.clear();
  }

  async #recoverKilled(elder: DeployedFunction, heir: DeployedFunction): Promise<void> {
    for (const { label, wayOut } of KILLED) {
      const { status } = await send(heir, this.#bodyOf(label));
      assert.equal(status, wayOut === 'none' ? 200 : 409, `${label} gets ${status}`);
    }
    await this.#waitForLeases();
    for (const { label, wayOut } of KILLED) {
      const decision = [label, '--yes', '--reason', 'rollout'];
      if (wayOut === 'resume' || wayOut === 'release') await this.#command(this.to, wayOut, ...decision);
    }
    await this.#sweep(this.to);
    for (const { label, wayOut } of KILLED) {
      if (wayOut === 'release') await this.#claimAgain(label, elder, heir);
      else await this.#expectReplays(this.#bodyOf(label), [heir, elder]);
    }
    this.print('attempts that were killed are resumed, swept and released after their lease');
  }

  /** Claims a released key with another payload. Neither version accepts the first payload afterwards. */
  async #claimAgain(label: string, elder: DeployedFunction, heir: DeployedFunction): Promise<void> {
    const given = this.#bodyOf(label);
    const another = this.#createBody(label, { name: 'another' });
    const first = await send(heir, another);
    assert.equal(first.status, 200, describe(first));
    assert.equal(first.headers['idempotent-replayed'], undefined);
    await this.#expectReplays(another, [elder], first);
    for (const each of [elder, heir]) assert.equal((await send(each, given)).status, 409, `${label} was given up`);
  }

  /** Checks that each process replays the same bytes for a body, and rejects another payload. */
  async #expectReplays(
    body: PriceListBody,
    processes: readonly DeployedFunction[],
    first?: ReceivedResponse,
  ): Promise<void> {
    let text = first?.text;
    for (const each of processes) {
      const replay = await send(each, body);
      const label = body.info.boq_list_id;
      assert.deepEqual(
        [replay.status, replay.headers['idempotent-replayed']],
        [200, 'true'],
        `${label}: ${describe(replay)}`,
      );
      text ??= replay.text;
      assert.equal(replay.text, text, `${label} gets the same bytes from both versions`);
      assert.equal((await send(each, withAnotherName(body))).status, 409, `${label} keeps its payload`);
    }
  }

  /** Waits until the leases of all attempts in progress have expired. */
  async #waitForLeases(): Promise<void> {
    const keys = await this.#db.collection('price_list_idempotency').where('status', '==', 'processing').get();
    const expiry = Math.max(...keys.docs.map((key) => Number(key.get('lease_expires_at'))));
    await delay(Math.max(0, expiry + 1_000 - Date.now()));
  }

  #createBody(label: string, info: Partial<PriceListBody['info']> = {}): PriceListBody {
    const labelled = createLabelledBody(label, PRODUCTS);
    const body = { ...labelled, info: { ...labelled.info, ...info } };
    this.#bodies.push(body);
    return body;
  }

  #bodyOf(label: string): PriceListBody {
    return this.#bodies.find(({ info }) => info.boq_list_id === label) ?? assert.fail(`${label} was not sent`);
  }

  async #start({ folder }: Version): Promise<DeployedFunction> {
    const env = { ...this.#getVariables(), API_KEY };
    const started = await startDeployedFunction(join(folder, BUILT_PACKAGE), 'addPriceLists', env);
    this.#processes.push(started);
    return started;
  }

  #sweep(version: Version): Promise<void> {
    return this.#command(version, 'sweep');
  }

  /** Runs the command of a version. @throws Error unless it succeeds */
  async #command({ folder }: Version, ...args: string[]): Promise<void> {
    const env = this.#getVariables();
    await runProgram(process.execPath, [COMMAND, ...args], { cwd: folder, env });
  }

  #getVariables() {
    const { address } = this.firestore;
    return { FIRESTORE_EMULATOR_HOST: address, GCLOUD_PROJECT: PROJECT, METADATA_SERVER_DETECTION: 'none' };
  }
}

const send = ({ port }: DeployedFunction, body: PriceListBody): Promise<ReceivedResponse> =>
  sendRequest(port, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const withAnotherName = ({ info, products }: PriceListBody): PriceListBody => ({
  info: { ...info, name: `not ${info.name}` },
  products,
});

const describe = ({ status, text }: ReceivedResponse): string => `${status} ${text}`;
