import { supplyOrdersInvoices } from '../../src/supply-orders-invoices';
import { useTestService } from '../../../test/harness/service';
import { writeRecords } from '../../../test/harness/stored';

const service = useTestService({ supplyOrdersInvoices });

const JANUARY = { team_id: 'team-1', status: null, start_date: '2026-01-01', end_date: '2026-02-01' };
const START = Date.UTC(2026, 0, 1);
const END = Date.UTC(2026, 1, 1);
const INVOICE = { name: 'June', url: 'https://example.com/june.pdf' };

interface SupplyOrders {
  count: number;
  supply_orders: { id: string; invoices: unknown }[];
}

async function supplyOrdersOf(request: object): Promise<SupplyOrders> {
  const { status, json } = await service.call('supplyOrdersInvoices', { json: request });
  expect(status).toBe(200);
  const response = json as SupplyOrders;
  expect(response.count).toBe(response.supply_orders.length);
  return response;
}

const idsOf = async (request: object) => (await supplyOrdersOf(request)).supply_orders.map(({ id }) => id);

const order = (created_at: unknown, more: object = {}) => ({ team_id: 'team-1', status: 0, created_at, ...more });

describe('supply orders invoices', () => {
  test('returns the id and the invoices of each supply order, and nothing else', async () => {
    await writeRecords(service.db, 'supply_orders', {
      'supply-1': order(START, { invoices: [{ ...INVOICE, amount: 5 }, INVOICE], supplier: 'S' }),
      'supply-2': order(START + 1),
      'supply-3': order(START + 2, { invoices: [] }),
    });
    const calls = service.recordCalls();
    expect(await supplyOrdersOf(JANUARY)).toEqual({
      count: 3,
      supply_orders: [
        { id: 'supply-1', invoices: [INVOICE, INVOICE] },
        { id: 'supply-2', invoices: [] },
        { id: 'supply-3', invoices: [] },
      ],
    });
    expect(calls).toMatchObject([{ request: { query: { select: [['invoices'], ['created_at']] } } }]);
  });

  test('leaves out an invoice without a name or an address', async () => {
    const invoices = [
      INVOICE,
      { name: 'no address' },
      { url: 'https://example.com/no-name.pdf' },
      { ...INVOICE, name: '' },
      { ...INVOICE, url: 7 },
      'text',
      null,
      { name: ' ', url: ' ' },
    ];
    await writeRecords(service.db, 'supply_orders', {
      one: order(START, { invoices }),
      two: order(START, { invoices: 'text' }),
    });
    expect((await supplyOrdersOf(JANUARY)).supply_orders).toEqual([
      { id: 'one', invoices: [INVOICE, { name: ' ', url: ' ' }] },
      { id: 'two', invoices: [] },
    ]);
  });

  test('returns the oldest first, and orders of the same time by id', async () => {
    await writeRecords(service.db, 'supply_orders', {
      b: order(START + 5),
      a: order(START + 5),
      '10': order(START + 5),
      newest: order(END - 1),
      z: order(START),
      fraction: order(START + 0.5),
    });
    expect(await idsOf(JANUARY)).toEqual(['z', 'fraction', '10', 'a', 'b', 'newest']);
  });

  test('returns the supply orders of one status, or of any status for null', async () => {
    await writeRecords(service.db, 'supply_orders', {
      zero: order(START, { status: 0 }),
      one: order(START, { status: 1 }),
      other: order(START, { status: 2 }),
      text: order(START, { status: '0' }),
      none: { team_id: 'team-1', created_at: START },
    });
    expect(await idsOf({ ...JANUARY, status: 0 })).toEqual(['zero']);
    expect(await idsOf({ ...JANUARY, status: 1 })).toEqual(['one']);
    expect(await idsOf(JANUARY)).toEqual(['none', 'one', 'other', 'text', 'zero']);
  });
});
