import { Client, credentials } from '@grpc/grpc-js';
import { Firestore } from '@google-cloud/firestore';
import { startFirestore, type InternalFirestore } from '../../../packages/firestore-local/src/internal';
import { createMemoryChannel } from './memory-channel';

/** A channel past the network behaves to a client as the network does. */

let server: InternalFirestore;
let db: Firestore;
beforeAll(async () => {
  server = await startFirestore();
  db = new Firestore({
    projectId: 'memory',
    // Nothing listens there: a call that did not go past the network would fail.
    host: '127.0.0.1:1',
    ssl: false,
    customHeaders: {},
    'grpc.channelFactoryOverride': () => createMemoryChannel(server),
  });
});
beforeEach(() => {
  server.faults.clear();
  server.clear();
});
afterAll(async () => {
  await db.terminate();
  await server.close();
});

/** The error that a promise rejects with. */
const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error('expected a rejection')),
    (error: unknown) => error,
  );

test('documents are written, read, queried and streamed', async () => {
  const ids = Array.from({ length: 400 }, (_, i) => String(i).padStart(3, '0'));
  const batch = db.batch();
  for (const id of ids) batch.set(db.doc(`c/${id}`), { id });
  await batch.commit();
  expect((await db.doc('c/007').get()).data()).toEqual({ id: '007' });
  expect((await db.collection('c').orderBy('id').get()).docs.map((document) => document.id)).toEqual(ids);
  const streamed: string[] = [];
  for await (const document of db.collection('c').stream()) {
    streamed.push((document as unknown as { id: string }).id);
  }
  expect(streamed).toEqual(ids);
  expect(server.counts()).toMatchObject({ Commit: 1, BatchGetDocuments: 1, RunQuery: 2 });
});

test('a transaction reads and writes', async () => {
  await db.doc('c/a').set({ count: 1 });
  await db.runTransaction(async (transaction) => {
    const read = await transaction.get(db.doc('c/a'));
    transaction.update(read.ref, { count: Number(read.get('count')) + 1 });
  });
  expect((await db.doc('c/a').get()).data()).toEqual({ count: 2 });
});

test('an error has its code and message', async () => {
  await db.doc('c/a').create({});
  expect(await rejection(db.doc('c/a').create({}))).toMatchObject({ code: 6 });
  server.faults.inject({ rpc: 'Commit', action: { kind: 'error', code: 'PERMISSION_DENIED' } });
  expect(await rejection(db.doc('c/b').set({}))).toMatchObject({ code: 7 });
});

/** One call below the SDK, which does not retry. */
function callRaw(client: Client, rpc: string, timeoutMs: number): Promise<Buffer | undefined> {
  const identity = (bytes: Buffer): Buffer => bytes;
  const options = { deadline: Date.now() + timeoutMs };
  const database = Buffer.from('\u0000projects/memory/databases/(default)');
  database.writeUInt8(database.length - 1, 0);
  const request = Buffer.concat([Buffer.from([0x0a]), database]);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/google.firestore.v1.Firestore/${rpc}`,
      identity,
      identity,
      request,
      options,
      (error, value) => (error === null ? resolve(value) : reject(error)),
    );
  });
}

describe('a call below the SDK', () => {
  let client: Client;
  beforeEach(() => {
    client = new Client('nowhere', credentials.createInsecure(), { channelOverride: createMemoryChannel(server) });
  });

  test('gets its response', async () => {
    expect(await callRaw(client, 'Commit', 10_000)).toBeInstanceOf(Buffer);
  });

  test('without a response ends at its deadline', async () => {
    server.faults.inject({ rpc: 'Commit', action: { kind: 'hang' } });
    expect(await rejection(callRaw(client, 'Commit', 50))).toMatchObject({ code: 4 });
  });

  test('fails when a fault or the client closes the connection', async () => {
    server.faults.inject({ rpc: 'Commit', action: { kind: 'drop' } });
    expect(await rejection(callRaw(client, 'Commit', 10_000))).toMatchObject({ code: 14 });
    const hung = server.faults.inject({ rpc: 'Commit', action: { kind: 'hang' } });
    const closed = rejection(callRaw(client, 'Commit', 10_000));
    await hung.fired;
    client.close();
    expect(await closed).toMatchObject({ code: 14 });
  });

  test('of an operation that does not exist is UNIMPLEMENTED', async () => {
    const error = await rejection(callRaw(client, 'Frob', 10_000));
    expect(error).toMatchObject({ code: 12, details: 'There is no operation Frob.' });
  });
});
