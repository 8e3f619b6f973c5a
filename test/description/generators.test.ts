import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';
import { getOperations, type OperationName } from '../../scripts/openapi/operations';
import { cleanUp, startLocalServer, temporaryFolder } from '../support/local-server';
import { runProgram } from '../support/programs';
import { runRedocly } from '../support/redocly';

/**
 * docs/openapi.json by the tools of others: a linter, and a code generator whose client calls the service. Generators of
 * other languages: scripts/contract/clients.ts.
 */

afterAll(cleanUp);

test('docs/openapi.json has no finding of a linter', async () => {
  const { problems } = JSON.parse(await runRedocly(['lint', 'docs/openapi.json', '--format', 'json'])) as Report;
  expect(problems).toEqual([]);
});

interface Report {
  problems: object[];
}

const RANGE = { team_id: 'team-east-africa', start_date: '2026-07-01', end_date: '2026-10-01' };

interface Call {
  body?: object;
  /** What is read of the response's `body`, and what it is. */
  value: string;
  expected: unknown;
}

/** An operation without an entry is called without a body, and its `count` is read. */
const CALLS: Partial<Record<OperationName, Call>> = {
  getOrdersByTeam: {
    body: { ...RANGE, status: 'ALL' },
    value: "orders['ord-2026-00332']?.customer_data.customer_name",
    expected: 'Sahel Civil Works Ltd',
  },
  getWarehouses: { value: "warehouses['wh-nbo-1']?.country_iso", expected: 'KEN' },
  getMarkets: { value: "markets['mkt-ken']?.currency_iso", expected: 'KES' },
  getTeams: { value: "teams['team-east-africa']?.name", expected: 'East Africa' },
  supplyOrdersInvoices: {
    body: { ...RANGE, status: null },
    value: 'supply_orders[0]?.id.slice(0, 4)',
    expected: 'sup-',
  },
  addPriceLists: {
    body: {
      info: { market_id: 'mkt-ken', boq_list_id: 'generated', currency_iso: 'KES', date: '06/2026', name: 'June' },
      products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
    },
    // Of an object that may be null: generators lose the members of some ways to describe one.
    value: "price_list?.new_date.month.toFixed() + ' ' + body.price_list?.date + ' ' + body.market?.iso",
    expected: '6 06/2026 KEN',
  },
};

const getCall = (name: OperationName): Call =>
  CALLS[name] ?? { value: 'count', expected: expect.any(Number) as number };

/** A program that calls all operations by openapi-fetch, with the types that openapi-typescript generates. */
function createProgram(baseUrl: string): string {
  const calls = getOperations().map(({ name, info: { method } }) => {
    const { body, value } = getCall(name);
    const options = body ? `, { body: ${JSON.stringify(body)} }` : '';
    return `${name}: await (async () => {
      const body = some(await client.${method}('/${name}'${options}));
      return body.${value};
    })(),`;
  });
  return `
    import createClient from 'openapi-fetch';
    import type { paths } from '${resolve('docs/examples/client/src/api.ts')}';
    const client = createClient<paths>({ baseUrl: '${baseUrl}', headers: { 'x-api-key': 'local-dev-key' } });
    const some = <T>({ data, error }: { data?: T; error?: unknown }): T => {
      if (data === undefined) throw new Error(JSON.stringify(error));
      return data;
    };
    const results = async () => ({ ${calls.join('\n')} });
    results().then((all) => console.log(JSON.stringify(all)));`;
}

test('a client of openapi-typescript and openapi-fetch compiles and calls every operation', async () => {
  const service = await startLocalServer({ SAMPLE_DATA: 'true' });
  const folder = temporaryFolder();
  const file = join(folder, 'program.ts');
  writeFileSync(file, createProgram(service.address('').replace(/\/$/, '')));

  const errors = ts.getPreEmitDiagnostics(ts.createProgram([file], COMPILER_OPTIONS));
  expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);

  const outfile = join(folder, 'program.mjs');
  const nodePaths = [resolve('node_modules')];
  await build({ entryPoints: [file], outfile, bundle: true, platform: 'node', format: 'esm', nodePaths });
  const { stdout } = await runProgram(process.execPath, [outfile]);
  expect(JSON.parse(stdout)).toEqual(
    Object.fromEntries(getOperations().map(({ name }) => [name, getCall(name).expected])),
  );
});

const COMPILER_OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  // The program is in a folder from which the packages of this one cannot be seen.
  paths: { 'openapi-fetch': [resolve('node_modules/openapi-fetch')] },
  types: [],
};
