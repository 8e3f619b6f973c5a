import { validate } from '../../../../src/lib/schemas/fields';
import {
  ordersByTeamRequestSchema,
  supplyOrdersInvoicesRequestSchema,
} from '../../../../src/lib/schemas/read-requests';
import { operations } from '../../../../../dev/run/operations';
import {
  catchValidationError,
  findInvalidPaths,
  invalidTexts,
  validTexts,
  withLabels,
} from '../../../../../test/harness/validation';

/** Dates that do not exist, and dates in another form. */
const notDays = [
  '2023-02-29',
  '1900-02-29',
  '2026-13-01',
  '2026-01-00',
  '2026-1-01',
  '+002026-01-01',
  '2026-01-01T00:00:00Z',
  ' 2026-01-01',
  '2026-01-01\n',
  '２０２６-01-01',
];

const schemas = { getOrdersByTeam: ordersByTeamRequestSchema, supplyOrdersInvoices: supplyOrdersInvoicesRequestSchema };

type Name = keyof typeof schemas;

const parse = (name: Name, changed: object) =>
  validate<(typeof schemas)[Name]>(schemas[name], { ...operations[name].body, ...changed });

describe.each(Object.keys(schemas) as Name[])('%s', (name) => {
  test('names every offending field', () => {
    expect(findInvalidPaths(() => validate(schemas[name], {}))).toEqual([
      'team_id',
      'start_date',
      'end_date',
      'status',
    ]);
  });

  test.each([null, [], 'text', 1])('rejects the body %j with one error, whose path is `body`', (whole) => {
    expect(findInvalidPaths(() => validate(schemas[name], whole))).toEqual(['body']);
  });

  test.each(withLabels(invalidTexts))('rejects the team_id %s', (_, team_id) => {
    expect(findInvalidPaths(() => parse(name, { team_id }))).toEqual(['team_id']);
  });

  test.each(withLabels(validTexts))('accepts the team_id %s', (_, team_id) => {
    expect(parse(name, { team_id }).team_id).toBe(team_id);
  });

  describe.each(['start_date', 'end_date'] as const)('%s', (field) => {
    test.each(notDays)('rejects %j, and the message does not repeat it', (day) => {
      const message = 'Expected a valid date as YYYY-MM-DD, received a different string';
      expect(catchValidationError(() => parse(name, { [field]: day }))?.errors).toEqual([{ path: field, message }]);
    });

    test.each([
      ['0050-01-01', -60_589_296_000_000],
      ['1969-12-31', -86_400_000],
      ['2000-02-29', 951_782_400_000],
      ['9999-12-31', 253_402_214_400_000],
    ])('converts the day %s to midnight UTC in Unix milliseconds: %d', (day, expected) => {
      expect(parse(name, { [field]: day })[field]).toBe(expected);
    });
  });
});

const ORDERS = 'Expected one of WAITING, LINKING, DELIVERING, DELIVERED, CANCELLED, ALL';
const SUPPLY_ORDERS = 'Expected 0, 1 or null';
test.each<[Name, unknown, string]>([
  ['getOrdersByTeam', undefined, `${ORDERS}, received no value`],
  ['getOrdersByTeam', '', `${ORDERS}, received an empty string`],
  ['getOrdersByTeam', 'Waiting', `${ORDERS}, received a different string`],
  ['getOrdersByTeam', 'constructor', `${ORDERS}, received a different string`],
  ['getOrdersByTeam', null, `${ORDERS}, received null`],
  ['supplyOrdersInvoices', undefined, `${SUPPLY_ORDERS}, received no value`],
  ['supplyOrdersInvoices', '0', `${SUPPLY_ORDERS}, received a string`],
  ['supplyOrdersInvoices', false, `${SUPPLY_ORDERS}, received a boolean`],
  ['supplyOrdersInvoices', 2, `${SUPPLY_ORDERS}, received a different number`],
  ['supplyOrdersInvoices', [0], `${SUPPLY_ORDERS}, received an array`],
  ['supplyOrdersInvoices', {}, `${SUPPLY_ORDERS}, received an object`],
])('%s rejects the status %j', (name, status, message) => {
  expect(catchValidationError(() => parse(name, { status }))?.errors).toEqual([{ path: 'status', message }]);
});

test('getOrdersByTeam parses the status ALL as null', () => {
  expect(parse('getOrdersByTeam', { status: 'ALL' }).status).toBeNull();
});
