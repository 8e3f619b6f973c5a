import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import {
  DEPLOY_PACKAGE,
  PROJECT,
  startDeployedFunction,
  type DeployedFunction,
} from '../../../scripts/harness/deployed';
import { startFakeGoogleCloud, type FakeGoogleCloud } from '../deployment/google';
import { sendRequest } from '../../../scripts/harness/http';
import { writeMarket } from '../support/price-lists';
import { createPriceListBody } from '../support/submissions';

/** The metadata server refuses access tokens for a while. The built package must retry on both of its channels. */

/** Number of requests that one renewal makes before it fails. */
const REQUESTS_PER_RENEWAL = 4;

const API_KEY = 'test-key-1';

let firestore: EmbeddedFirestore;
let cloud: FakeGoogleCloud;
let read: DeployedFunction;
let write: DeployedFunction;

beforeAll(async () => {
  firestore = await startFirestore();
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  const db = new Firestore({ projectId: PROJECT });
  await writeMarket(db);
  await db.terminate();
  cloud = await startFakeGoogleCloud(firestore.port);
  // This lifetime is so short that each call renews its token.
  cloud.token.lifetimeSeconds = 1;
  const env = { API_KEY, ...cloud.environment };
  const serve = (name: string) => startDeployedFunction(DEPLOY_PACKAGE, name, env);
  [read, write] = await Promise.all([serve('getMarkets'), serve('addPriceLists')]);
});

afterAll(async () => {
  await Promise.all([read.stop(), write.stop()]);
  await cloud.close();
  await firestore.close();
});

const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };

const getMarkets = async () => (await sendRequest(read.port, { method: 'GET', headers })).status;

async function addPriceLists(boq_list_id: string): Promise<number> {
  const body = JSON.stringify(createPriceListBody(3, { boq_list_id }));
  return (await sendRequest(write.port, { method: 'POST', headers, body })).status;
}

test('a read and a creation return 200 when the metadata server refuses the renewal of a token on both channels', async () => {
  expect([await getMarkets(), await addPriceLists('boq-1')]).toEqual([200, 200]);
  // The outage starts after the creation's first read.
  const begun = new Promise<void>((resolve) => {
    const stop = firestore.observe(({ rpc }) => {
      if (rpc !== 'BatchGetDocuments') return;
      cloud.token.refusals = 2 * REQUESTS_PER_RENEWAL + 2;
      stop();
      resolve();
    });
  });
  const creation = addPriceLists('boq-2');
  await begun;
  expect(await Promise.all([getMarkets(), creation])).toEqual([200, 200]);
  expect(cloud.token.refusals).toBe(0);
});
