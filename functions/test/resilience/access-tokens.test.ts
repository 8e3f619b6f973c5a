import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore } from '../../../packages/firestore-local/src';
import { DEPLOY_PACKAGE, PROJECT, startDeployedFunction, type DeployedFunction } from '../deployment/deployed';
import { startFakeGoogleCloud, type FakeGoogleCloud } from '../deployment/google';
import { sendRequest } from '../support/http';
import { writeMarket } from '../support/price-lists';
import { createPriceListBody } from '../support/submissions';

/** Renewals of the access token that the metadata server rejects for four seconds, on both channels, in the built package. */

/** Longer than one renewal: those of Google's library end after its own retries, in about 2 s. */
const OUTAGE_MS = 4_000;
/** Requests that one renewal makes before it fails. */
const REQUESTS_PER_RENEWAL = 4;

const API_KEY = 'test-key-1';

let firestore: EmbeddedFirestore;
let cloud: FakeGoogleCloud;
let served: DeployedFunction | undefined;

beforeAll(async () => {
  firestore = await startFirestore();
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
  const db = new Firestore({ projectId: PROJECT });
  await writeMarket(db);
  await db.terminate();
  cloud = await startFakeGoogleCloud(firestore.port);
  // So short that each call renews its token.
  cloud.token.lifetimeSeconds = 1;
});

beforeEach(() => {
  cloud.token.outage = undefined;
});
afterEach(() => served?.stop());

afterAll(async () => {
  await cloud.close();
  await firestore.close();
});

test.each([
  ['getMarkets', undefined, () => ({ method: 'GET' })],
  // After the read, which the Firestore SDK tries again by itself whatever the error is.
  [
    'addPriceLists',
    'BatchGetDocuments',
    (key: string) => ({ method: 'POST', body: createPriceListBody(3, { boq_list_id: key }) }),
  ],
] as const)(
  '%s returns 200 when the token cannot be renewed for four seconds',
  async (name, lastCall, createRequest) => {
    served = await startDeployedFunction(DEPLOY_PACKAGE, name, { API_KEY, ...cloud.environment });
    const { port } = served;
    const send = async (key: string) => {
      const { method, ...rest } = createRequest(key);
      const body = 'body' in rest ? JSON.stringify(rest.body) : '';
      const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
      return (await sendRequest(port, { method, headers, body })).status;
    };
    expect(await send('boq-1')).toBe(200);

    const stop = firestore.observe(({ rpc }) => {
      if (rpc === lastCall && cloud.token.outage === undefined) startOutage();
    });
    if (lastCall === undefined) startOutage();
    expect(await send('boq-2')).toBe(200);
    stop();
    expect(cloud.token.outage?.failures).toBeGreaterThan(REQUESTS_PER_RENEWAL);
    expect(performance.now()).toBeGreaterThan(cloud.token.outage?.until ?? Infinity);
  },
  300_000,
);

function startOutage(): void {
  cloud.token.outage = { until: performance.now() + OUTAGE_MS, minFailures: REQUESTS_PER_RENEWAL + 1, failures: 0 };
}
