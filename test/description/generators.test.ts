import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';
import { operationNames, type OperationName } from '../../functions/test/support/operations';
import { cleanUp, startLocalServer, temporaryFolder, type LocalServer } from '../support/local-server';
import { runProgram } from '../support/programs';

/** docs/openapi.json by other tools: a linter, and code generators whose clients call the service. */

const DOCUMENT = resolve('docs/openapi.json');
const tools = resolve('node_modules');

let service: LocalServer;
let baseUrl: string;

beforeAll(async () => {
  service = await startLocalServer({ SAMPLE_DATA: 'true' });
  baseUrl = service.address('getTeams').replace('/getTeams', '');
}, 300_000);
afterAll(cleanUp);

test('spectral:oas has no finding', async () => {
  // Loaded by a process of its own: jest's module registry takes seconds for its 150 packages.
  const program = `const { readFileSync } = require('node:fs');
    const { Spectral } = require('@stoplight/spectral-core');
    const { oas } = require('@stoplight/spectral-rulesets');
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [oas] });
    Promise.all(process.argv.slice(1).map((file) => spectral.run(readFileSync(file, 'utf8'))))
      .then((findings) => console.log(JSON.stringify(findings)));`;
  const broken = join(temporaryFolder(), 'openapi.json');
  writeFileSync(broken, readFileSync(DOCUMENT, 'utf8').replace('"contact"', '"x-contact"'));
  const { stdout } = await runProgram(process.execPath, ['-e', program, DOCUMENT, broken], { cwd: tools });
  const [findings, findingsOfBroken] = JSON.parse(stdout) as { code: string; path: string[] }[][];
  expect(findings).toEqual([]);
  expect(findingsOfBroken?.map(({ code }) => code)).toEqual(['info-contact']);
});

test('the committed types of the client are generated from the document: `npm run openapi` writes them', async () => {
  const { stdout } = await runProgram(process.execPath, [join(tools, 'openapi-typescript/bin/cli.js'), DOCUMENT]);
  expect(stdout.trim()).toBe(readFileSync('docs/examples/client/src/api.ts', 'utf8').trim());
});

const RANGE = { team_id: 'team-east-africa', start_date: '2026-07-01', end_date: '2026-10-01' };

/** The bodies to send, and what to look at in the response. Without an entry: no body, and the `count`. */
const CALLS: Partial<Record<OperationName, { body?: object; value: string }>> = {
  getOrdersByTeam: { body: { ...RANGE, status: 'ALL' }, value: 'count' },
  getWarehouses: { value: "warehouses['wh-nbo-1']?.country_iso" },
  getMarkets: { value: "markets['mkt-ken']?.currency_iso" },
  getTeams: { value: "teams['team-east-africa']?.name" },
  supplyOrdersInvoices: { body: { ...RANGE, status: null }, value: 'supply_orders[0]?.id' },
  addPriceLists: {
    body: {
      info: { market_id: 'mkt-ken', boq_list_id: 'generated', currency_iso: 'KES', date: '06/2026', name: 'June' },
      products: { cement: { price_list_price: 2, expected_forward_cost_price: 1 } },
    },
    value: 'price_list?.created_at.toFixed()',
  },
};

/** The part of JSON Schema that the service's responses use. */
interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  type?: string | string[];
  enum?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  items?: Schema;
  const?: unknown;
}

interface Description {
  paths: Record<string, Record<string, { responses: Record<string, { content: Record<string, { schema: Schema }> }> }>>;
  components: { schemas: Record<string, Schema> };
}

const description = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Description;

const getMethod = (name: string) => Object.keys(description.paths[`/${name}`] ?? {})[0] ?? '';

/** @returns for each value within a schema the expression that reads it from `path`, and its type */
function findMembers(path: string, schema: Schema): [expression: string, type: string][] {
  const { $ref, anyOf, type, properties, additionalProperties, items } = schema;
  if ($ref !== undefined) return findMembers(path, description.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  const [first, ...others] = anyOf ?? [];
  if (first !== undefined && others.every((other) => other.type === 'null')) return findMembers(path, first);
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, property]) => findMembers(`${path}?.${name}`, property));
  }
  if (additionalProperties !== undefined) return findMembers(`${path}?.['x']`, additionalProperties);
  if (items !== undefined) return findMembers(`${path}?.[0]`, items);
  const types = [type ?? typeof schema.const].flat().map((each) => (each === 'integer' ? 'number' : each));
  return [[path, [...types, 'undefined'].join(' | ')]];
}

/** Statements that read every member of an operation's response, each as a value of its type. */
const readMembers = (name: string): string => {
  const response = description.paths[`/${name}`]?.[getMethod(name)]?.responses['200'];
  const members = findMembers('body', response?.content['application/json']?.schema ?? {});
  return members.map(([expression, type], i) => `const member${i}: ${type} = ${expression};`).join('\n');
};

/**
 * A program that calls all operations and reads every member of every response.
 *
 * @param call maps a name and a body to an expression of the response's body by the generated client
 */
const createProgram = (call: (name: string, body?: object) => string) => {
  const members = operationNames.map((name) => {
    const { body, value = 'count' } = CALLS[name] ?? {};
    return `${name}: await (async () => {
      const body = ${call(name, body)};
      ${readMembers(name)}
      return body.${value};
    })(),`;
  });
  return `const results = async () => ({ ${members.join('\n')} });
    results().then((all) => console.log(JSON.stringify(all)));`;
};

test('the programs read every member of the response of add price lists', () => {
  const statements = readMembers('addPriceLists');
  expect(statements).toContain('number | undefined = body?.price_list?.new_date?.month;');
  expect(statements).toContain('string | undefined = body?.price_list?.date;');
  expect(statements).toContain('string | null | undefined = body?.market?.iso;');
  expect(statements.split('\n')).toHaveLength(28);
});

/** Throws the error of a response, or passes its body on. */
const SOME = `const some = <T>({ data, error }: { data?: T; error?: unknown }): T => {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
};`;

interface Generator {
  /** The generator's arguments, its output folder last. */
  command: (folder: string) => string[];
  /** A program that calls all operations. */
  program: (url: string) => string;
}

const generators: Record<string, Generator> = {
  'openapi-typescript, with openapi-fetch,': {
    command: (folder) => ['openapi-typescript/bin/cli.js', DOCUMENT, '--output', `${folder}.ts`],
    program: (url) => `
      import createClient from 'openapi-fetch';
      import type { paths } from './generated';
      const client = createClient<paths>({ baseUrl: '${url}', headers: { 'x-api-key': 'local-dev-key' } });
      ${SOME}
      ${createProgram((name, body) => {
        const options = body ? `, { body: ${JSON.stringify(body)} }` : '';
        return `some(await client.${getMethod(name).toUpperCase()}('/${name}'${options}))`;
      })}`,
  },
  '@hey-api/openapi-ts': {
    command: (folder) => ['@hey-api/openapi-ts/bin/run.js', '-i', DOCUMENT, '-o', folder],
    program: (url) => `
      import { client } from './generated/client.gen';
      import * as sdk from './generated';
      client.setConfig({ baseUrl: '${url}', auth: 'local-dev-key' });
      ${SOME}
      ${createProgram((name, body) => `some(await sdk.${name}(${body ? `{ body: ${JSON.stringify(body)} }` : ''}))`)}`,
  },
  'swagger-typescript-api': {
    command: (folder) => [
      'swagger-typescript-api/dist/cli.mjs',
      ...['generate', '--path', DOCUMENT, '--output', folder, '--name', 'index.ts', '--single-http-client'],
    ],
    program: (url) => `
      import { Api, HttpClient } from './generated';
      const api = new Api(new HttpClient({
        baseUrl: '${url}',
        securityWorker: () => ({ headers: { 'x-api-key': 'local-dev-key' } }),
      }));
      ${createProgram((name, body) => `(await api.${name}.${name}(${body ? JSON.stringify(body) : ''})).data`)}`,
  },
};

describe('a client generated by', () => {
  const folders = new Map(Object.keys(generators).map((name) => [name, temporaryFolder()]));
  let errors: readonly ts.Diagnostic[];

  beforeAll(async () => {
    const programs = await Promise.all(
      Object.entries(generators).map(async ([name, { command, program }]) => {
        const folder = folders.get(name) ?? '';
        const [script = '', ...args] = command(join(folder, 'generated'));
        await runProgram(process.execPath, [join(tools, script), ...args], { cwd: folder });
        const file = join(folder, 'program.ts');
        writeFileSync(file, program(baseUrl));
        return file;
      }),
    );
    // In one program, which reads the declarations of ECMAScript and the DOM once.
    errors = ts.getPreEmitDiagnostics(ts.createProgram(programs, COMPILER_OPTIONS));
  }, 300_000);

  test.each([...folders])('%s compiles and calls every operation', async (_, folder) => {
    const own = errors.filter(({ file }) => file === undefined || file.fileName.startsWith(folder));
    expect(own.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);

    const outfile = join(folder, 'program.mjs');
    await build({
      entryPoints: [join(folder, 'program.ts')],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      nodePaths: [resolve('node_modules')],
      logLevel: 'error',
    });
    const { stdout } = await runProgram(process.execPath, [outfile]);
    const results = JSON.parse(stdout) as Record<string, unknown>;
    expect(Object.keys(results).sort()).toEqual([...operationNames].sort());
    expect(results).toMatchObject({
      getOrdersByTeam: expect.any(Number) as number,
      getWarehouses: 'KEN',
      getMarkets: 'KES',
      getTeams: 'East Africa',
      supplyOrdersInvoices: expect.stringMatching(/^sup-/) as string,
      addPriceLists: expect.stringMatching(/^\d{13}$/) as string,
    });
  });
});

const COMPILER_OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  // The programs are in folders from which the packages of this one cannot be seen.
  paths: { 'openapi-fetch': [resolve('node_modules/openapi-fetch')] },
  types: [],
};
