import fc from 'fast-check';
import { createRandom, spreadSeed } from '../../../../dev/random';
import { drawBody } from '../../../../dev/run/bodies';
import { runProgram } from '../../../../dev/run/programs';
import { ApiError, ValidationError } from '../../../src/lib/errors';
import {
  infoSchema,
  MAX_FIELD_ERRORS,
  priceListsShape,
  productPricesSchema,
} from '../../../src/lib/schemas/add-price-lists';
import { parseIndependently, select } from '../../../../test/harness/independent-json';
import { parseSubmissionText, toPricesById } from '../../../../test/harness/submissions';

const MIB = 1024 * 1024;

/** Seeds of the kinds of bodies that once ended an instance, or took most of its memory. */
const ONCE_RED = {
  'one name of ~': 3791,
  'one name of line breaks': 305,
  'one name of quotation marks': 166,
  'identifiers of 1,480 ~ and one ж': 79,
  'many names of 101 characters': 1872,
  'many names of 16 characters': 270,
  'nested objects with an index as their name': 27,
  'many objects with an index as their name': 11,
  'prices that grow': 835,
};

/** Seeds of arbitrary bodies whose memory is measured too. */
const DRAWS = Array.from({ length: 30 }, (_, i) => i + 1);

/**
 * Tests bodies that a grammar draws (dev/run/bodies.ts). Another parser with the schemas judges how the service reads
 * them, and the heap of a process shows how much memory they hold.
 */

const drawText = (seed: number, bytes: number) => drawBody(createRandom(spreadSeed(seed)), bytes).text.toString();

/** Returns the info and the products of a body, the sorted paths of its errors, or the code of another error. */
function readWithService(text: string): unknown {
  try {
    const submission = parseSubmissionText(text);
    return { info: submission.info, products: toPricesById(submission) };
  } catch (error) {
    if (error instanceof ValidationError) return error.errors.map(({ path }) => path).sort();
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

/** Returns what `readWithService` should return, by another parser and the schemas, without a limit of errors. */
function readIndependently(text: string): unknown {
  const json = parseIndependently(text.replace(/^\ufeff/, ''));
  if (json === undefined || json.depth > 1_000) return ['body'];
  const body = select(json.value, priceListsShape);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return ['body'];
  const { info, products } = body as { info?: unknown; products?: unknown };
  const parsed = infoSchema.safeParse(info);
  const toPaths = (under: string, issues: readonly { path: readonly PropertyKey[] }[] = []) =>
    issues.map(({ path }) => [under, ...path.map(String)].join('.'));
  const paths = toPaths('info', parsed.error?.issues);
  const members = products instanceof Map ? [...(products as Map<string, unknown>)] : [];
  if (members.length === 0) paths.push('products');
  for (const [id, prices] of members) {
    const shown = `products.${id.length > 1_500 ? `${id.slice(0, 100)}…` : id}`.toWellFormed();
    if (!isProductId(id)) paths.push(shown);
    paths.push(...toPaths(shown, productPricesSchema.safeParse(prices).error?.issues));
  }
  if (paths.length > 0) return paths.sort();
  return { info: parsed.data, products: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

/** Checks an identifier by the rules of docs/api.md, independently of the service's implementation. */
const isProductId = (id: string): boolean =>
  id.isWellFormed() &&
  Buffer.byteLength(id) >= 1 &&
  Buffer.byteLength(id) <= 1_500 &&
  !/^\s|\s$|\/|^\.{1,2}$|^__[^]*__$/.test(id);

test('a drawn body is read as another parser and the schemas read it', () =>
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.integer({ min: 300, max: 4_000 }), (seed, bytes) => {
      const text = drawText(seed, bytes);
      const expected = readIndependently(text);
      const read = readWithService(text);
      if (Array.isArray(expected) && expected.length >= MAX_FIELD_ERRORS) {
        expect(read).toHaveLength(MAX_FIELD_ERRORS);
        expect(expected).toEqual(expect.arrayContaining(read as string[]));
      } else expect(read).toEqual(expected);
    }),
    { numRuns: 1_500 },
  ));

test('a drawn body holds at most the memory that memory.ts counts for it', async () => {
  const program = 'test/harness/measure-bodies.ts';
  const seeds = [...Object.values(ONCE_RED), ...DRAWS];
  const args = ['--expose-gc', '--import', 'tsx', program, String(MIB), ...seeds.map(String)];
  const { stdout } = await runProgram(process.execPath, args);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { share: number });
  expect(rows).toHaveLength(seeds.length);
  expect(rows.filter(({ share }) => share > 1)).toEqual([]);
});
