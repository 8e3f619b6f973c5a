import {
  credentials,
  Server,
  ServerCredentials,
  status,
  type ServerWritableStream,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { FirestoreClient } from '@google-cloud/firestore-api';
import { createRequestContext } from '../../../../src/lib/request-context';
import { streamQuery } from '../../../../src/lib/firestore/query';
import { ManualClock } from '../../../support/clock';
import { useFirestoreEmulator } from '../../../support/firestore';

/** The requests of a query, seen by a server whose responses the test decides. */

const PROJECT = 'demo-price-lists';
const DATABASE = `projects/${PROJECT}/databases/(default)`;
const READ_AT = { seconds: '1780000000', nanos: 123_456_000 };

interface RunQueryRequest {
  parent: string;
  structuredQuery: { startAt: unknown };
  readTime: unknown;
}

type Call = ServerWritableStream<RunQueryRequest, object>;

const calls: Call[] = [];
let respond: (call: Call, nth: number) => void;
let server: Server;

beforeAll(async () => {
  const description = new FirestoreClient({
    servicePath: '127.0.0.1',
    port: 1,
    sslCreds: credentials.createInsecure(),
    universeDomain: 'googleapis.com',
  });
  const stub = await description.initialize();
  const { service } = stub.constructor as unknown as ServiceClientConstructor;
  await description.close();
  server = new Server();
  server.addService({ RunQuery: service['RunQuery'] } as ServiceClientConstructor['service'], {
    RunQuery: (call: Call) => respond(call, calls.push(call)),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  useFirestoreEmulator(`127.0.0.1:${port}`, PROJECT);
});
beforeEach(() => calls.splice(0));
afterAll(() => server.forceShutdown());

const found = (i: number) => ({
  document: {
    name: `${DATABASE}/documents/orders/order-${i}`,
    fields: { created_at: { doubleValue: i + 0.5 }, team_id: { stringValue: 'team-1' } },
  },
  readTime: READ_AT,
});

const fail = (call: Call, code: status) => void call.emit('error', { code, details: 'injected' });

const db = () => createRequestContext(new AbortController().signal);

async function read(context = db()): Promise<string[]> {
  const ids: string[] = [];
  const orders = { collection: 'orders', orderBy: ['created_at'], fields: ['team_id'] };
  for await (const batch of streamQuery(context, orders, () => null)) ids.push(...batch.map(([id]) => id));
  return ids;
}

test('a request names its database and has a deadline', async () => {
  respond = (call) => {
    call.write({ readTime: READ_AT });
    call.end();
  };
  expect(await read()).toEqual([]);
  const [call] = calls;
  expect(call?.request).toMatchObject({
    parent: `${DATABASE}/documents`,
    structuredQuery: {
      orderBy: [
        { field: { fieldPath: 'created_at' }, direction: 'ASCENDING' },
        { field: { fieldPath: '__name__' }, direction: 'ASCENDING' },
      ],
      select: { fields: [{ fieldPath: 'team_id' }, { fieldPath: 'created_at' }] },
    },
  });
  expect(call?.metadata.getMap()).toMatchObject({
    'google-cloud-resource-prefix': DATABASE,
    'x-goog-request-params': `parent=${encodeURIComponent(`${DATABASE}/documents`)}`,
    authorization: 'Bearer owner',
  });
  const left = Number(call?.getDeadline()) - Date.now();
  expect(left).toBeGreaterThan(40_000);
  expect(left).toBeLessThanOrEqual(45_000);
});

test('a query continues after the last document, read at the same time', async () => {
  respond = (call, nth) => {
    call.write(found(2 * nth - 1));
    call.write(found(2 * nth));
    if (nth === 3) call.end();
    else fail(call, status.UNAVAILABLE);
  };
  expect(await read()).toEqual(['order-1', 'order-2', 'order-3', 'order-4', 'order-5', 'order-6']);
  const cursors = calls.map(({ request: { structuredQuery, readTime } }) => ({ structuredQuery, readTime }));
  expect(cursors[0]).not.toHaveProperty('structuredQuery.startAt.values');
  expect(cursors.slice(1)).toEqual(
    [2, 4].map((last): unknown =>
      expect.objectContaining({
        readTime: expect.objectContaining(READ_AT) as unknown,
        structuredQuery: expect.objectContaining({
          startAt: {
            before: false,
            values: [
              expect.objectContaining({ doubleValue: last + 0.5 }),
              expect.objectContaining({ referenceValue: `${DATABASE}/documents/orders/order-${last}` }),
            ],
          },
        }) as unknown,
      }),
    ),
  );
});

test('a query that fails again before the next document continues from the same place', async () => {
  respond = (call, nth) => {
    if (nth !== 2) call.write(found(nth));
    if (nth === 3) call.end();
    else fail(call, status.UNAVAILABLE);
  };
  expect(await read()).toEqual(['order-1', 'order-3']);
  const [, second, third] = calls.map(({ request }) => request.structuredQuery.startAt);
  expect(third).toEqual(second);
});

test('fails after a minute of errors, counted from the last document', async () => {
  const clock = new ManualClock(0);
  respond = (call, nth) => {
    if (nth === 10) call.write(found(1));
    fail(call, status.UNAVAILABLE);
  };
  const context = { ...db(), clock, random: () => 0.999 };
  await expect(read(context)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  const reached = clock.slept.slice(0, 9).reduce((sum, ms) => sum + ms);
  expect(clock.now() - reached).toBeGreaterThan(52_000);
  expect(clock.now() - reached).toBeLessThanOrEqual(60_000);
  expect(context.counters.firestoreCalls).toBe(calls.length);
});
