import fc from 'fast-check';
import { getOrdersByTeam } from '../../src/get-orders-by-team';
import { supplyOrdersInvoices } from '../../src/supply-orders-invoices';
import { ValidationError } from '../../src/lib/errors';
import { validate, ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../src/lib/schemas/requests';
import { operations } from '../support/operations';
import { useTestService } from '../support/service';
import {
  textsAtLimit,
  loneSurrogates,
  withLabels,
  invalidTexts,
  expectValidationErrorPaths,
  textsOverLimit,
} from '../support/validation';

const service = useTestService({ getOrdersByTeam, supplyOrdersInvoices });
beforeEach(() => service.reset());

/** Dates that look like one and are none, or are one in another form. */
const notDays = [
  '2024-02-30',
  '2023-02-29',
  '1900-02-29',
  '2026-04-31',
  '2026-13-01',
  '2026-00-10',
  '2026-01-00',
  '2026-01-32',
  '2026-1-01',
  '2026-01-1',
  '26-01-01',
  '02026-01-01',
  '+002026-01-01',
  '-0001-01-01',
  '2026/01/01',
  '01-01-2026',
  '20260101',
  '2026-01-01T00:00:00Z',
  ' 2026-01-01',
  '2026-01-01 ',
  '2026-01-01\n',
  '２０２６-01-01',
  '2026-W01-1',
  'today',
];

const days = ['2024-02-29', '2000-02-29', '0050-01-01', '0000-02-29', '9999-12-31', '1969-12-31'];

describe.each(['getOrdersByTeam', 'supplyOrdersInvoices'] as const)('%s', (name) => {
  const { body } = operations[name];
  const paths = async (json: object) => expectValidationErrorPaths(await service.call(name, { json }));

  test('names every offending field', async () => {
    expect((await paths({})).sort()).toEqual(['end_date', 'start_date', 'status', 'team_id']);
    expect((await paths({ ...body, start_date: 'x', status: 'x' })).sort()).toEqual(['start_date', 'status']);
  });

  test('costs no call to the database', async () => {
    const before = service.firestore.counts();
    await paths({});
    expect(service.firestore.counts()).toEqual(before);
  });

  test.each(withLabels([...invalidTexts, ...loneSurrogates, ...textsOverLimit]))(
    'rejects the team_id %s',
    async (_, team_id) => {
      expect(await paths({ ...body, team_id })).toEqual(['team_id']);
    },
  );

  test.each(withLabels([...textsAtLimit, ' ', '\u0000', '__proto__', 'a/b', '..']))(
    'accepts the team_id %s',
    async (_, team_id) => {
      const { status, json } = await service.call(name, { json: { ...body, team_id } });
      expect([status, json]).toMatchObject([200, { count: 0 }]);
    },
  );

  describe.each(['start_date', 'end_date'])('%s', (field) => {
    test.each([...invalidTexts, ...loneSurrogates, ...notDays])('rejects %j', async (day) => {
      expect(await paths({ ...body, [field]: day })).toEqual([field]);
    });

    test.each(days)('accepts %s', async (day) => {
      expect((await service.call(name, { json: { ...body, [field]: day } })).status).toBe(200);
    });
  });

  test('takes nothing from a prototype', async () => {
    const json = `{"__proto__": ${JSON.stringify(body)}}`;
    expect(expectValidationErrorPaths(await service.call(name, { body: json }))).toHaveLength(4);
  });
});

describe('status', () => {
  test.each([...invalidTexts, 'all', 'ALL ', 'Waiting', 'PENDING', 'constructor', '\ud800'])(
    'of orders rejects %j',
    async (status) => {
      const json = { ...operations.getOrdersByTeam.body, status };
      expect(expectValidationErrorPaths(await service.call('getOrdersByTeam', { json }))).toEqual(['status']);
    },
  );

  test.each([undefined, '', '0', '1', 'null', 'ALL', true, false, 2, -1, 0.5, [], [0], {}])(
    'of supply orders rejects %j',
    async (status) => {
      const json = { ...operations.supplyOrdersInvoices.body, status };
      expect(expectValidationErrorPaths(await service.call('supplyOrdersInvoices', { json }))).toEqual(['status']);
    },
  );
});

test('the status -0 of supply orders is 0', () => {
  const { status } = validate(supplyOrdersInvoicesRequestSchema, {
    ...operations.supplyOrdersInvoices.body,
    status: -0,
  });
  expect(status).toBe(0);
});

describe('a day', () => {
  const startOf = (start_date: string) =>
    validate(ordersByTeamRequestSchema, { ...operations.getOrdersByTeam.body, start_date }).start_date;
  const leap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const lengths = (year: number) => [31, leap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  const digits = (value: number, length: number) => String(value).padStart(length, '0');

  /** Days since 1970-01-01, counted one by one by the rules of the calendar; no Date has a part in it. */
  function daysSince1970(year: number, month: number, day: number): number {
    const leapsBefore = (y: number) => Math.ceil(y / 4) - Math.ceil(y / 100) + Math.ceil(y / 400);
    const before = (y: number) => 365 * y + leapsBefore(y);
    const inYear = lengths(year).slice(0, month - 1);
    return before(year) - before(1970) + inYear.reduce((sum, each) => sum + each, 0) + day - 1;
  }

  test('is accepted if the calendar has it, as midnight UTC in milliseconds', () =>
    fc.assert(
      fc.property(fc.nat(9999), fc.nat(14), fc.nat(33), (year, month, day) => {
        const written = `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
        const exists = day >= 1 && day <= (lengths(year)[month - 1] ?? 0);
        if (exists) expect(startOf(written)).toBe(daysSince1970(year, month, day) * 86_400_000);
        else expect(() => startOf(written)).toThrow(ValidationError);
      }),
      { numRuns: 2000 },
    ));

  test('is rejected in any other form', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...Array.from('0123456789-/T:Z+ \n')), maxLength: 12 }),
        (written) => {
          fc.pre(!/^\d{4}-\d\d-\d\d$/.test(written) || written.includes('\n'));
          expect(() => startOf(written)).toThrow(ValidationError);
        },
      ),
    ));
});

test('for any body, the validator returns a value or a validation error', () =>
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.constantFrom(ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema),
      (body, schema) => {
        try {
          validate<typeof schema>(schema, body);
        } catch (error) {
          expect(error).toBeInstanceOf(ValidationError);
        }
      },
    ),
  ));
