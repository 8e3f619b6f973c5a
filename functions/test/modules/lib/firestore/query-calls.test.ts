import {
  credentials,
  Server,
  ServerCredentials,
  status,
  type ServerWritableStream,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { v1 } from 'firebase-admin/firestore';
import { streamQuery } from '../../../../src/lib/firestore/query';
import { createCallContext } from '../../../../src/lib/call-context';
import { useFirestoreEmulator } from '../../../support/firestore';

/** What a query says to Firestore, heard by a server that answers as a test tells it. */

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
let answer: (call: Call, nth: number) => void;
let server: Server;

beforeAll(async () => {
  const description = new v1.FirestoreClient({
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
    RunQuery: (call: Call) => answer(call, calls.push(call)),
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

const fail = (call: Call, code: status) => void call.emit('error', { code, details: 'as told' });

const db = () => createCallContext(new AbortController().signal);

async function read(selected = db()): Promise<string[]> {
  const ids: string[] = [];
  const orders = { collection: 'orders', orderBy: 'created_at', fields: ['team_id'] };
  for await (const group of streamQuery(selected, orders)) ids.push(...group.map(({ id }) => id));
  return ids;
}

test('says which database it is for, and how long it may take', async () => {
  answer = (call) => {
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

test('goes on behind the last document, at the moment that it was read at', async () => {
  answer = (call, nth) => {
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

test('gives up after five tries without a document', async () => {
  jest.spyOn(Math, 'random').mockReturnValue(0.001);
  answer = (call) => fail(call, status.UNAVAILABLE);
  const selected = db();
  await expect(read(selected)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  expect([calls.length, selected.callCount]).toEqual([5, 5]);
});
