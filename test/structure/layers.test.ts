import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { installToolPackages } from '../../scripts/tool-packages';

/** The rules of imports, tried on a small tree in which each of them is broken once. */

/** Rule -> a file, and what it must not import. */
const planted: Record<string, [file: string, imported: string]> = {
  'no-circle': ['functions/src/lib/clock.ts', 'functions/src/lib/config.ts'],
  'layer-lib-schemas': ['functions/src/lib/schemas/order.ts', 'functions/src/lib/http/cors.ts'],
  'layer-lib-firestore': ['functions/src/lib/firestore/query.ts', 'functions/src/lib/schemas/stored.ts'],
  'layer-lib-repositories': ['functions/src/lib/repositories/lists.ts', 'functions/src/price-lists/payload.ts'],
  'layer-lib-http': ['functions/src/lib/http/endpoint.ts', 'functions/src/lib/firestore/retry.ts'],
  'layer-price-lists': ['functions/src/price-lists/workflow.ts', 'functions/src/lib/http/cors.ts'],
  ground: ['functions/src/lib/logging.ts', 'functions/src/lib/schemas/stored.ts'],
  'operations-are-the-top': ['functions/src/get-teams.ts', 'functions/src/get-orders.ts'],
  // It imports nothing, so what it does not reach is a file that the others plant.
  'operations-are-exported': ['functions/src/get-teams.ts', 'functions/src/index.ts'],
  'firestore-packages': ['functions/src/lib/call-context.ts', 'firebase-admin/firestore'],
  'firestore-types': ['functions/src/lib/errors.ts', 'type firebase-admin/firestore'],
  parameters: ['functions/src/lib/runtime-options.ts', 'firebase-functions/params'],
  'service-is-self-contained': ['functions/src/lib/json/parser.ts', 'functions/test/support.ts'],
  cli: ['functions/cli/main.ts', 'functions/src/get-orders.ts'],
  'local-is-independent': ['local/server/start.ts', 'functions/src/lib/json/writer.ts'],
  'tests-do-not-import-bench': ['test/product.test.ts', 'bench/measure.ts'],
  'cold-start': ['functions/src/get-markets.ts', 'functions/src/lib/requests.ts'],
};

const folder = mkdtempSync(join(tmpdir(), 'layers-'));
let found: { rule: string; file: string }[];

beforeAll(async () => {
  await installToolPackages('scripts/layers');
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  for (const [file, imported] of Object.values(planted)) {
    write(imported, '');
    write(file, statement(file, imported));
  }
  write('functions/src/lib/config.ts', "import './clock';");
  write('functions/src/lib/requests.ts', "import { z } from 'zod';\nexport const text = z.string();");
  found = [...(await violations('imports')), ...(await violations('coldStart'))];
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

test.each(Object.entries(planted))('%s is reported for an import against it', (rule, [file]) => {
  expect(found).toContainEqual({ rule, file });
});

test('no rule is left without a planted import', () => {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- a CommonJS configuration
  const { imports, coldStart } = require(resolve('.dependency-cruiser.cjs')) as Record<string, Configuration>;
  const names = [imports, coldStart].flatMap((configuration) => configuration?.forbidden.map(({ name }) => name));
  expect(Object.keys(planted).sort()).toEqual(names.sort());
});

interface Configuration {
  forbidden: { name: string }[];
}

function statement(file: string, imported: string): string {
  const [, type, name = ''] = /^(type )?(.+)$/.exec(imported) ?? [];
  if (!name.includes('.ts'))
    return type === undefined ? `import '${name}';` : `import type { Firestore } from '${name}';`;
  // A value that is used: an import without one leaves no trace once it is compiled.
  return `import * as imported from '${relative(dirname(file), name)
    .replace(/^(?!\.)/, './')
    .replace('.ts', '')}';\nexport default imported;`;
}

function write(file: string, text: string): void {
  if (!file.endsWith('.ts')) return;
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

async function violations(configuration: 'imports' | 'coldStart'): Promise<typeof found> {
  const config = join(folder, `${configuration}.cjs`);
  writeFileSync(
    config,
    `module.exports = require(${JSON.stringify(resolve('.dependency-cruiser.cjs'))}).${configuration};`,
  );
  const cli = resolve('scripts/layers/node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const folders = configuration === 'imports' ? ['functions', 'local', 'test'] : ['functions/src'];
  const output = await new Promise<string>((done) =>
    execFile(
      process.execPath,
      [cli, ...folders, '--config', config, '-T', 'json'],
      { cwd: folder, maxBuffer: 2 ** 26 },
      (_, out) => done(out),
    ),
  );
  const { summary } = JSON.parse(output) as { summary: { violations: { from: string; rule: { name: string } }[] } };
  return summary.violations.map(({ from, rule }) => ({ rule: rule.name, file: from }));
}
