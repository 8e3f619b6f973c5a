import fc from 'fast-check';
import { ValidationError } from '../../../../src/lib/errors';
import { validate } from '../../../../src/lib/schemas/fields';
import { ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../../../src/lib/schemas/requests';
import { operations } from '../../../support/operations';
import {
  findInvalidPaths,
  invalidTexts,
  loneSurrogates,
  textsAtLimit,
  textsOverLimit,
  withLabels,
} from '../../../support/validation';

/** The bodies of the two range reads, field by field. */

/** Dates that look like one and are none, or are one in another form. */
const notDays = [
  '2024-02-30',
  '2023-02-29',
  '1900-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-01-00',
  '2026-1-01',
  '26-01-01',
  '02026-01-01',
  '+002026-01-01',
  '-0001-01-01',
  '2026/01/01',
  '20260101',
  '2026-01-01T00:00:00Z',
  ' 2026-01-01',
  '2026-01-01\n',
  '２０２６-01-01',
  '2026-W01-1',
];

const days = ['2024-02-29', '2000-02-29', '0050-01-01', '0000-02-29', '9999-12-31', '1969-12-31'];

describe.each([
  ['getOrdersByTeam', ordersByTeamRequestSchema],
  ['supplyOrdersInvoices', supplyOrdersInvoicesRequestSchema],
] as const)('%s', (name, schema) => {
  const { body } = operations[name];
  const pathsOf = (changed: object) => findInvalidPaths(() => validate(schema, { ...body, ...changed }));

  test('names every offending field', () => {
    expect(findInvalidPaths(() => validate(schema, {}))).toEqual(['team_id', 'start_date', 'end_date', 'status']);
    expect(pathsOf({ start_date: 'x', status: 'x' })).toEqual(['start_date', 'status']);
  });

  test.each([null, [], 'text', 1])('rejects the body %j as a whole', (whole) => {
    expect(findInvalidPaths(() => validate(schema, whole))).toEqual(['body']);
  });

  test('takes nothing from a prototype', () => {
    const inherited: unknown = JSON.parse(`{"__proto__":${JSON.stringify(body)}}`);
    expect(findInvalidPaths(() => validate(schema, inherited))).toHaveLength(4);
  });

  test.each(withLabels([...invalidTexts, ...loneSurrogates, ...textsOverLimit]))(
    'rejects the team_id %s',
    (_, team_id) => {
      expect(pathsOf({ team_id })).toEqual(['team_id']);
    },
  );

  test.each(withLabels([...textsAtLimit, ' ', '\u0000', '__proto__', 'a/b', '..']))(
    'accepts the team_id %s',
    (_, team_id) => {
      expect(pathsOf({ team_id })).toEqual([]);
    },
  );

  describe.each(['start_date', 'end_date'])('%s', (field) => {
    test.each([...invalidTexts, ...loneSurrogates, ...notDays])('rejects %j', (day) => {
      expect(pathsOf({ [field]: day })).toEqual([field]);
    });

    test.each(days)('accepts %s', (day) => {
      expect(pathsOf({ [field]: day })).toEqual([]);
    });
  });
});

test.each([...invalidTexts, 'all', 'ALL ', 'Waiting', 'PENDING', 'constructor', '\ud800'])(
  'the status %j of orders is rejected',
  (status) => {
    const body = { ...operations.getOrdersByTeam.body, status };
    expect(findInvalidPaths(() => validate(ordersByTeamRequestSchema, body))).toEqual(['status']);
  },
);

test.each([undefined, '', '0', '1', 'null', 'ALL', true, false, 2, -1, 0.5, [], [0], {}])(
  'the status %j of supply orders is rejected',
  (status) => {
    const body = { ...operations.supplyOrdersInvoices.body, status };
    expect(findInvalidPaths(() => validate(supplyOrdersInvoicesRequestSchema, body))).toEqual(['status']);
  },
);

test('the status -0 of supply orders is 0, and ALL of orders is none', () => {
  const supplyOrders = { ...operations.supplyOrdersInvoices.body, status: -0 };
  expect(validate(supplyOrdersInvoicesRequestSchema, supplyOrders).status).toBe(0);
  expect(validate(ordersByTeamRequestSchema, operations.getOrdersByTeam.body).status).toBeNull();
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
