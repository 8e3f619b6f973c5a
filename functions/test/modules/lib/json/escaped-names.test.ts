import fc from 'fast-check';
import { ValidationError } from '../../../../src/lib/errors';
import { jsonBody } from '../../../../src/lib/http/json-body';
import { parseText, type BodyParser } from '../../../../src/lib/json/body-parser';
import { parseJson } from '../../../../src/lib/json/parse';
import { ordersByTeamRequestSchema, supplyOrdersInvoicesRequestSchema } from '../../../../src/lib/schemas/requests';
import { createPriceListParser } from '../../../../src/price-lists/submission-parser';
import { arbitraryWrittenText } from '../../../support/arbitrary-text';

/**
 * V8 may take an escaped member name for another one that it has parsed in the same place of an object before
 * (https://github.com/nodejs/node/issues/63785). All bodies of this file are parsed in one process.
 */

/** Writes a member name as a JSON string. */
type NameWriter = (name: string) => string;

interface Operation {
  createParser: () => BodyParser<unknown>;
  members: string[];
  /** A valid body, its member names written by the writer, with an unknown member first in each object. */
  write: (name: NameWriter, unknown: string) => string;
}

const priceListMembers =
  'info market_id boq_list_id currency_iso date name products price_list_price expected_forward_cost_price';
const readMembers = 'team_id status start_date end_date';

const writeRead = (status: string) => (name: NameWriter, unknown: string) =>
  `{"${unknown}":0,${name('team_id')}:"t",${name('status')}:${status},${name('start_date')}:"2026-01-01",${name('end_date')}:"2026-02-01"}`;

const operations: Operation[] = [
  {
    createParser: createPriceListParser,
    members: priceListMembers.split(' '),
    write: (name, unknown) => {
      const texts = `${name('market_id')}:"m",${name('boq_list_id')}:"b",${name('name')}:"n"`;
      const info = `{"${unknown}":0,${texts},${name('currency_iso')}:"USD",${name('date')}:"06/2026"}`;
      const prices = `{"${unknown}":0,${name('expected_forward_cost_price')}:1,${name('price_list_price')}:2}`;
      return `{"${unknown}":0,${name('info')}:${info},${name('products')}:{"a":${prices},"b":${prices}}}`;
    },
  },
  {
    createParser: jsonBody(ordersByTeamRequestSchema).createParser,
    members: readMembers.split(' '),
    write: writeRead('"ALL"'),
  },
  {
    createParser: jsonBody(supplyOrdersInvoicesRequestSchema).createParser,
    members: readMembers.split(' '),
    write: writeRead('null'),
  },
];

/** Writes a name with the escape of one of its characters. */
function escapeAt(name: string, index: number): string {
  const escape = `\\u${name.charCodeAt(index).toString(16).padStart(4, '0')}`;
  return name.slice(0, index) + escape + name.slice(index + 1);
}

/** Writes another name, which begins as the text of `escapeAt` does: these two are confused. */
const writeSimilarName: NameAtPlace = (name, index) =>
  escapeAt(name, index).slice(0, name.length).replace('\\', '\\\\');

type NameAtPlace = (name: string, index: number) => string;

/** Writes another name, with an escape for a character that no member name of the service has. */
const writeOtherName =
  (escape: string): NameAtPlace =>
  (name, index) =>
    name.slice(0, index) + escape + name.slice(index + 1);

const nameWriters = [
  escapeAt,
  writeSimilarName,
  ...['\\\\', '\\"', '\\n', '\\/', '\\u0000', '\\u0041', '\\u00e9', '\\u2028', '\\ud800'].map(writeOtherName),
];

/** Bodies to one operation, of which each writes the same one of its names with an escape: that name, or another one. */
const arbitraryBodies = fc.record({
  operation: fc.constantFrom(...operations),
  member: fc.nat({ max: 100 }),
  place: fc.nat({ max: 100 }),
  writers: fc.array(fc.constantFrom(...nameWriters), { minLength: 2, maxLength: 6 }),
});

/** @returns the parsed body, or its field errors */
function getResult(parser: BodyParser<unknown>, text: string): unknown {
  try {
    return parseText(parser, text);
  } catch (error) {
    if (error instanceof ValidationError) return error.errors;
    throw error;
  }
}

/** Every run has a name of its own before the others, so that its places in an object are new to V8. */
let runCount = 0;

test('every body is parsed as it is alone, after any bodies of others with escaped names', () =>
  fc.assert(
    fc.property(arbitraryBodies, ({ operation: { createParser, members, write }, member, place, writers }) => {
      const name = members[member % members.length] ?? '';
      const prefix = `run_${(runCount += 1)}`;
      const writeWith = (replacement: string) =>
        write((each) => (each === name ? `"${replacement}"` : `"${each}"`), prefix);
      const results = writers.map((writer) => getResult(createParser(), writeWith(writer(name, place % name.length))));
      // Unknown members are ignored: a body without an escape gives the result of the same name, or of any other.
      const expected = writers.map((writer) =>
        getResult(createParser(), writeWith(writer === escapeAt ? name : 'other')),
      );
      expect(results).toEqual(expected);
    }),
    { numRuns: 500 },
  ));

const arbitraryName = arbitraryWrittenText(fc.constantFrom('a', '5', '\\', '"', '\n', 'é', '𝄞', '__proto__', ''), 3);

interface Written {
  value: unknown;
  text: string;
}

/** Values with the text that each is written as, so that the expected value does not come from a parser. */
const { value: arbitraryValue } = fc.letrec<{ value: Written; object: Written; array: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc
      .constantFrom<unknown>(null, true, -1.5, '', '\\', '{"', ',')
      .map((value) => ({ value, text: JSON.stringify(value) })),
    tie('object'),
    tie('array'),
  ),
  object: fc.array(fc.tuple(arbitraryName, tie('value')), { maxLength: 4 }).map((members) => ({
    value: toObject(members.map(([{ text }, { value }]) => [text, value])),
    text: `{${members.map(([{ json }, value]) => `"${json}" :\n${value.text}`).join(' ,')}}`,
  })),
  array: fc.array(tie('value'), { maxLength: 3 }).map((items) => ({
    value: items.map(({ value }) => value),
    text: `[${items.map(({ text }) => text).join()}]`,
  })),
}));

/** Not assigned: a member may be called __proto__. */
function toObject(members: [name: string, value: unknown][]): object {
  const object = {};
  for (const [name, value] of members) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

test('any JSON has its value, whatever was parsed before it, also with names that come twice', () =>
  fc.assert(
    fc.property(fc.array(arbitraryValue, { maxLength: 4 }), (written) => {
      for (const { value, text } of written) expect(parseJson(text)).toStrictEqual(value);
    }),
    { numRuns: 2_000 },
  ));

test.each(['{"a\\', '{"a\\n":1', '{"a\\x":1}', '["\\n",]', '"\\n" 1', '{"\\n":1}}', '\\'])('%j is not JSON', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

test('a value is as deep as its text, without a limit of its own', () => {
  const depth = 100_000;
  let value = parseJson(`${'{"\\u0061":'.repeat(depth)}0${'}'.repeat(depth)}`);
  for (let i = 0; i < depth; i += 1) value = (value as { a: unknown }).a;
  expect(value).toBe(0);
});
