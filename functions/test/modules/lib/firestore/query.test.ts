import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { getConnection } from '../../../../src/lib/firestore/connection';
import type { QuerySpec } from '../../../../src/lib/firestore/messages';
import { streamQuery } from '../../../../src/lib/firestore/query';
import { createWorkContext, type WorkContext } from '../../../../src/lib/work-context';
import { ManualClock } from '../../../../../test/harness/clock';
import { useTestDatabase } from '../../../../../test/harness/database';
import { writeRecords } from '../../../../../test/harness/stored';
import { waitUntilFired } from '../../../../../test/harness/wait-for';

const TEAM = 'team-1';

const selection: QuerySpec = {
  collection: 'orders',
  where: [['team_id', '==', TEAM]],
  orderBy: ['created_at'],
  fields: ['customer_data.customer_id'],
};

/** Ids of 1,000 orders. Ten orders share each creation time, so a query is also interrupted between equal times. */
const ids = Array.from({ length: 1000 }, (_, i) => `order-${String(i).padStart(4, '0')}`);

const database = useTestDatabase();

beforeAll(async () => {
  const orders = ids.map((id, i) => ({
    team_id: TEAM,
    created_at: 1_700_000_000_000 + Math.floor(i / 10),
    customer_data: { customer_id: `customer of ${id}`, customer_name: 'not selected' },
  }));
  await writeRecords(database.client, 'orders', Object.fromEntries(ids.map((id, i) => [id, orders[i] ?? {}])));
});
afterEach(() => database.firestore.faults.clear());

const open = (signal = new AbortController().signal) => {
  const clock = new ManualClock(0);
  return { ...createWorkContext(signal), clock, random: () => 0.999 };
};

async function idsOf(db: WorkContext, selected: QuerySpec): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of streamQuery(db, selected, () => null)) found.push(...batch.map(([id]) => id));
  return found;
}

test('a query reads documents in order with the selected fields, in one call', async () => {
  const db = open();
  expect(await idsOf(db, selection)).toEqual(ids);
  const [first] = (await streamQuery(db, selection, (stored) => stored).next()).value as unknown[];
  const fields = { created_at: undefined, customer_data: { customer_id: 'customer of order-0000' } };
  expect(first).toEqual(['order-0000', fields]);
  expect(db.counters.firestoreCalls).toBe(2);
});

describe('the batches of a query', () => {
  const readBatches = async (selected: QuerySpec) => {
    const context = open();
    const batches: number[] = [];
    for await (const batch of streamQuery(context, selected, () => null)) batches.push(batch.length);
    return { batches, context };
  };

  test('have 1 to 128 records, and the wait for them is measured', async () => {
    const { batches, context } = await readBatches(selection);
    expect(batches[0]).toBe(128);
    expect(Math.max(...batches)).toBe(128);
    expect(Math.min(...batches)).toBeGreaterThan(0);
    expect(Object.keys(context.counters.phasesMs)).toEqual(['firestore']);
    expect(getEventListeners(context.signal, 'abort')).toEqual([]);
    expect((await readBatches({ ...selection, where: [['team_id', '==', 'nobody']] })).batches).toEqual([]);
  });

  test('end early after a mebibyte', async () => {
    const large = Array.from({ length: 7 }, () => ({ text: 'x'.repeat(400_000) }));
    await writeRecords(database.client, 'large', Object.fromEntries(large.map((record, i) => [`${i}`, record])));
    expect((await readBatches({ collection: 'large', fields: ['text'] })).batches).toEqual([3, 3, 1]);
  });
});

test('a query takes no more than a batch from Firestore until its consumer asks for the next one', async () => {
  const connection = await getConnection();
  const { runQuery } = connection;
  let received = 0;
  jest.spyOn(connection, 'runQuery').mockImplementation((request) =>
    runQuery(request).on('data', () => {
      received += 1;
    }),
  );
  const batches = streamQuery(open(), selection, () => null);
  await batches.next();
  // All 1,000 documents arrive in this time if nothing stops them.
  await delay(500);
  expect(received).toBe(128);
  for await (const batch of batches) expect(batch.length).toBeGreaterThan(0);
  expect(received).toBe(1_000);
  jest.restoreAllMocks();
});

describe('a query continues after the last document that it received', () => {
  test.each([
    ['INTERNAL', 127],
    ['RESOURCE_EXHAUSTED', 128],
    ['UNAVAILABLE', 1000],
  ] as const)('after %s and %i documents', async (code, messages) => {
    database.firestore.faults.inject({ rpc: 'RunQuery', when: { messages }, action: { kind: 'error', code } });
    const db = open();
    expect(await idsOf(db, selection)).toEqual(ids);
    expect(db.counters.firestoreCalls).toBe(2);
  });

  test('after two errors without a document between them', async () => {
    const error = { kind: 'error', code: 'UNAVAILABLE' } as const;
    database.firestore.faults.inject({ rpc: 'RunQuery', when: { messages: 200 }, action: error });
    database.firestore.faults.inject({ rpc: 'RunQuery', nth: 2, action: error });
    expect(await idsOf(open(), selection)).toEqual(ids);
  });

  test('even if it is ordered by id alone', async () => {
    database.firestore.faults.inject({
      rpc: 'RunQuery',
      when: { messages: 500 },
      action: { kind: 'error', code: 'UNAVAILABLE' },
    });
    expect(await idsOf(open(), { collection: 'orders', fields: ['team_id'] })).toEqual(ids);
  });
});

test('a query fails after a minute of errors, counted from the first error after a document', async () => {
  const error = { kind: 'error', code: 'UNAVAILABLE' } as const;
  database.firestore.faults.inject({ rpc: 'RunQuery', times: 9, action: error });
  database.firestore.faults.inject({ rpc: 'RunQuery', nth: 10, when: { messages: 1 }, action: error });
  database.firestore.faults.inject({ rpc: 'RunQuery', nth: 11, times: Infinity, action: error });
  const context = open();
  await expect(idsOf(context, selection)).rejects.toMatchObject({ code: 14 });
  const { clock } = context;
  const tookMs = clock.now() - clock.slept.slice(0, 9).reduce((sum, ms) => sum + ms);
  expect(tookMs).toBeGreaterThan(52_000);
  expect(tookMs).toBeLessThanOrEqual(60_000);
});

test('a query whose index is missing throws the error at once', async () => {
  const error = { kind: 'error', code: 'FAILED_PRECONDITION' } as const;
  database.firestore.faults.inject({ rpc: 'RunQuery', action: error });
  const db = open();
  await expect(idsOf(db, selection)).rejects.toMatchObject({ code: 9 });
  expect(db.counters.firestoreCalls).toBe(1);
});

test('a query ends when its signal aborts, even while nothing arrives, and cancels its call', async () => {
  const { promise: outcome, resolve } = Promise.withResolvers<string>();
  const stop = database.firestore.observe((call) => resolve(call.outcome));
  // The fault is a delay, because a call that hangs has the outcome HUNG even if it is cancelled.
  const action = { kind: 'delay', ms: 500 } as const;
  const fault = database.firestore.faults.inject({ rpc: 'RunQuery', when: { messages: 200 }, action });
  const controller = new AbortController();
  const reading = idsOf(open(controller.signal), selection);
  await waitUntilFired(fault, reading);
  controller.abort(new Error('timeout'));
  await expect(reading).rejects.toThrow('timeout');
  expect(await outcome).toBe('CANCELLED');
  stop();
});

test('a query cancels its call when the consumer stops', async () => {
  const { promise: outcome, resolve } = Promise.withResolvers<string>();
  const stop = database.firestore.observe((call) => resolve(call.outcome));
  // Without the delay, the call could end before it is cancelled. Without a cancellation, it ends at its deadline of 45 s.
  database.firestore.faults.inject({ rpc: 'RunQuery', when: { messages: 200 }, action: { kind: 'delay', ms: 200 } });
  const batches = streamQuery(open(), selection, () => null);
  await batches.next();
  await batches.return(undefined);
  expect(await outcome).toBe('CANCELLED');
  stop();
}, 30_000);

test('a query that continues after an error returns the documents as they were at its first call, despite writes in between', async () => {
  const write = async (): Promise<void> => {
    const orders = database.client.collection('orders');
    const batch = database.client.batch().delete(orders.doc('order-0005')).delete(orders.doc('order-0900'));
    await batch.create(orders.doc('added'), { team_id: TEAM, created_at: 1_700_000_000_100 }).commit();
  };
  const when = { messages: 500 };
  database.firestore.faults.inject({ rpc: 'RunQuery', when, action: { kind: 'call', run: write } });
  database.firestore.faults.inject({ rpc: 'RunQuery', when, action: { kind: 'error', code: 'UNAVAILABLE' } });
  const db = open();
  expect(await idsOf(db, selection)).toEqual(ids);
  expect(db.counters.firestoreCalls).toBe(2);
  const kept = ids.filter((id) => id !== 'order-0005' && id !== 'order-0900');
  expect(await idsOf(open(), selection)).toEqual([...kept, 'added']);
});
