import { validate } from '../../../../src/lib/schemas/fields';
import { ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../../../src/lib/schemas/requests';
import { operations } from '../../../../../scripts/harness/operations';
import {
  findInvalidPaths,
  invalidTexts,
  loneSurrogates,
  textsAtLimit,
  textsOverLimit,
  withLabels,
} from '../../../support/validation';

/** Dates that do not exist, and dates in another form. */
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
  '2026/01/01',
  '2026-01-01T00:00:00Z',
  ' 2026-01-01',
  '2026-01-01\n',
  '２０２６-01-01',
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

  test.each([null, [], 'text', 1])('rejects the body %j with one error at its path', (whole) => {
    expect(findInvalidPaths(() => validate(schema, whole))).toEqual(['body']);
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

test('the status -0 of supply orders is 0, and ALL of orders is null', () => {
  const supplyOrders = { ...operations.supplyOrdersInvoices.body, status: -0 };
  expect(validate(supplyOrdersInvoicesRequestSchema, supplyOrders).status).toBe(0);
  expect(validate(ordersByTeamRequestSchema, operations.getOrdersByTeam.body).status).toBeNull();
});

test.each([
  ['0050-01-01', -60_589_296_000_000],
  ['1969-12-31', -86_400_000],
  ['2024-02-29', 1_709_164_800_000],
])('the day %s is midnight UTC in Unix milliseconds: %d', (start_date, expected) => {
  const body = { ...operations.getOrdersByTeam.body, start_date };
  expect(validate(ordersByTeamRequestSchema, body).start_date).toBe(expected);
});
