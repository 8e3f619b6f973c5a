import { getOrdersByTeam } from '../../src/get-orders-by-team';
import { useTestService } from '../../../test/harness/service';
import { writeRecords } from '../../../test/harness/stored';

const service = useTestService({ getOrdersByTeam });

/** The range is before 1970, so that all times are negative. */
const JANUARY = { team_id: 'team-1', status: 'ALL', start_date: '1960-01-01', end_date: '1960-02-01' };
const START = Date.UTC(1960, 0, 1);
const END = Date.UTC(1960, 1, 1);

interface Orders {
  count: number;
  orders: Record<string, unknown>;
}

async function ordersOf(request: object): Promise<Orders> {
  const { status, json } = await service.call('getOrdersByTeam', { json: request });
  expect(status).toBe(200);
  const response = json as Orders;
  expect(response.count).toBe(Object.keys(response.orders).length);
  return response;
}

const idsOf = async (request: object) => Object.keys((await ordersOf(request)).orders).sort();

describe('get orders by team', () => {
  test('returns the documented fields and no others', async () => {
    await writeRecords(service.db, 'orders', {
      'order-1': {
        team_id: 'team-1',
        market_id: 'market-1',
        invoice_id: 'invoice-1',
        customer_data: { customer_id: 'c-1', customer_name: ' Ada ', phone: '0' },
        status: 'WAITING',
        created_at: START,
        total: 5,
      },
      'order-2': { team_id: 'team-1', customer_data: 'none', invoice_id: '', market_id: 7, created_at: START },
    });
    const calls = service.recordCalls();
    expect(await ordersOf(JANUARY)).toEqual({
      count: 2,
      orders: {
        'order-1': {
          customer_data: { customer_id: 'c-1', customer_name: ' Ada ' },
          invoice_id: 'invoice-1',
          market_id: 'market-1',
          team_id: 'team-1',
        },
        'order-2': {
          customer_data: { customer_id: null, customer_name: null },
          invoice_id: null,
          market_id: null,
          team_id: 'team-1',
        },
      },
    });
    const customer = [
      ['customer_data', 'customer_id'],
      ['customer_data', 'customer_name'],
    ];
    const select = [...customer, ['invoice_id'], ['market_id'], ['team_id'], ['created_at']];
    expect(calls).toMatchObject([{ request: { query: { select } } }]);
  });

  test('includes the first millisecond of the range and excludes its end', async () => {
    const at = (created_at: unknown) => ({ team_id: 'team-1', status: 'WAITING', created_at });
    await writeRecords(service.db, 'orders', {
      before: at(START - 1),
      first: at(START),
      last: at(END - 1),
      end: at(END),
      text: at('1960-01-05'),
      date: at(new Date(START)),
      missing: { team_id: 'team-1', status: 'WAITING' },
    });
    expect(await idsOf(JANUARY)).toEqual(['first', 'last']);
    expect(await idsOf({ ...JANUARY, start_date: '1960-02-01', end_date: '1960-02-02' })).toEqual(['end']);
  });

  test('returns the orders of exactly one team id', async () => {
    const teams = ['team-1', 'TEAM-1', 'team-1 ', 'team-10', 'é', 'e\u0301'];
    const records = teams.map((team_id, i) => [`id-${i}`, { team_id, created_at: START }] as const);
    await writeRecords(service.db, 'orders', Object.fromEntries(records));
    for (const [i, team_id] of teams.entries()) expect(await idsOf({ ...JANUARY, team_id })).toEqual([`id-${i}`]);
    expect(await ordersOf({ ...JANUARY, team_id: 'nobody' })).toEqual({ count: 0, orders: {} });
  });

  test('returns no orders for a team id of 1,500 bytes or more, without a call to Firestore', async () => {
    const calls = service.recordCalls();
    for (const team_id of ['x'.repeat(1_500), 'é'.repeat(750), 'x'.repeat(10_000)]) {
      expect(await ordersOf({ ...JANUARY, team_id })).toEqual({ count: 0, orders: {} });
    }
    expect(calls).toEqual([]);
    await ordersOf({ ...JANUARY, team_id: 'x'.repeat(1_499) });
    expect(calls).toHaveLength(1);
  });

  const statuses = ['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED'];

  test('returns the orders of one status, or of any status for ALL', async () => {
    const stored = [...statuses, 'ALL', 'UNKNOWN', null];
    const records = stored.map((status) => [String(status), { team_id: 'team-1', created_at: START, status }]);
    await writeRecords(service.db, 'orders', {
      ...(Object.fromEntries(records) as Record<string, object>),
      none: { team_id: 'team-1', created_at: START },
    });
    for (const status of statuses) expect(await idsOf({ ...JANUARY, status })).toEqual([status]);
    expect(await idsOf(JANUARY)).toEqual(['none', ...stored.map(String)].sort());
  });
});
