import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { openApiDocument } from '../../../scripts/openapi/document';
import { ordersByTeam, priceList, supplyOrdersInvoices } from '../../../scripts/openapi/examples';
import { installToolPackages } from '../../../scripts/tool-packages';
import { ERROR_DEFINITIONS } from '../../src/lib/errors';
import { addPriceListsRequestSchema, validateProductId } from '../../src/lib/schemas/add-price-lists';
import {
  validateWith,
  ordersByTeamRequestSchema,
  supplyOrdersInvoicesRequestSchema,
} from '../../src/lib/schemas/requests';
import { operationNames, operations } from '../support/operations';
import { parseSubmission } from '../support/submissions';

/** docs/openapi.json is what the code says, and what Redocly's lint recommends. */

const run = promisify(execFile);
const committed = readFileSync('docs/openapi.json', 'utf8');

beforeAll(() => installToolPackages('scripts/openapi'), 300_000);

test('the committed document is the generated one: `npm run openapi` writes it', () => {
  expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
});

test('the committed types of the client are those of the document', async () => {
  const { stdout } = await run(process.execPath, [
    'scripts/openapi/node_modules/openapi-typescript/bin/cli.js',
    'docs/openapi.json',
  ]);
  expect(stdout.trim()).toBe(readFileSync('docs/examples/client/src/api.ts', 'utf8').trim());
});

test('the document is clean by the recommended rules of Redocly', async () => {
  const args = ['scripts/openapi/node_modules/@redocly/cli/bin/cli.js', 'lint', 'docs/openapi.json'];
  const { stdout } = await run(process.execPath, [...args, '--extends', 'recommended', '--format', 'json'], {
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  const { problems, totals } = JSON.parse(stdout) as { problems: unknown[]; totals: { errors: number } };
  expect(problems).toEqual([]);
  expect(totals.errors).toBe(0);
}, 60_000);

test('every operation is described with its method, and nothing else is', () => {
  const { paths } = JSON.parse(committed) as { paths: Record<string, object> };
  const described = Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)]);
  expect(Object.fromEntries(described)).toEqual(
    Object.fromEntries(
      operationNames.map((name) => {
        const method = operations[name].method.toLowerCase();
        return [`/${name}`, name === 'getWarehouses' ? [method, 'options'] : [method]];
      }),
    ),
  );
});

test.each(Object.values(ERROR_DEFINITIONS))('the document has the error $status $text', ({ message }) => {
  expect(committed).toContain(JSON.stringify(message));
});

test('the examples of requests are accepted', () => {
  expect(() => validateWith(ordersByTeamRequestSchema)(ordersByTeam)).not.toThrow();
  expect(() => validateWith(supplyOrdersInvoicesRequestSchema)(supplyOrdersInvoices)).not.toThrow();
  expect(() => parseSubmission(priceList)).not.toThrow();
});

/** Product identifiers that are judged one way or the other by each rule of the contract's section 4.6. */
const identifiers = [
  ...['a', 'cement-50kg', 'a b', 'ä', '😀', '__', '___', '_a_', '__a', 'a__', '...', 'constructor', '0', '-'],
  ...['', ' a', 'a ', '\ta', 'a\n', '\ufeffa', 'a\u00a0', 'a/b', '/', '.', '..', '____', '__a__', '__a\nb__'],
];

test.each(identifiers)('the described body accepts the product %j exactly where the service does', (id) => {
  const products = { [id]: { price_list_price: 1, expected_forward_cost_price: 0 } };
  const accepted = validateProductId(id) === undefined;
  expect(addPriceListsRequestSchema.safeParse({ ...priceList, products }).success).toBe(accepted);
  expect(pattern().test(id)).toBe(accepted);
});

/** The rule of identifiers as the document states it. */
function pattern(): RegExp {
  const { components } = JSON.parse(committed) as {
    components: {
      schemas: { AddPriceListsRequest: { properties: { products: { propertyNames: { pattern: string } } } } };
    };
  };
  return new RegExp(components.schemas.AddPriceListsRequest.properties.products.propertyNames.pattern);
}
