import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { runProgram } from '../../dev/run/programs';

/**
 * Gives unexpected texts to programs that read files or answers from outside. Each program must say in its own words what it cannot
 * read, without a stack trace and without a message of the JavaScript engine.
 */

/** JSON of any form, JSON that is cut off, the page of a proxy, and other texts. */
const garbage = fc.oneof(
  fc.json(),
  fc.json({ maxDepth: 1 }).map((text) => `{"result":${text},"source":${text},"functions":${text},"payload":${text}}`),
  fc.json().map((text) => `{"changes":${text}`),
  fc.constantFrom('', '<!doctype html><title>Sign in</title>', '\ufeffnull', '\u001b[31m'),
  fc.string(),
);
const TEXTS = fc.sample(garbage, { numRuns: 40, seed: Number(process.env['SEED'] ?? 1) });

let folder: string;
let address: string;
const server = createServer((request, response) => {
  const text = TEXTS[sent++ % TEXTS.length] ?? '';
  request.resume().once('end', () => response.writeHead(sent % 4 === 0 ? 500 : 200).end(text));
});
let sent = 0;

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), 'garbage-'));
  // The programs start in a folder of links to the files of the repository, so that a test can replace a file.
  for (const file of readdirSync('.')) symlinkSync(resolve(file), join(folder, file));
  writeFileSync(join(folder, 'api-key'), 'an-api-key\n');
});

afterAll(() => {
  server.close().closeAllConnections();
  rmSync(folder, { recursive: true });
});

async function run(args: string[], env: Record<string, string> = {}) {
  const options = { cwd: folder, env: { HOME: folder, ...env } };
  const { code, stdout, stderr } = await runProgram(process.execPath, args, options).then(
    (output) => ({ code: 0, ...output }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
  const output = stdout + stderr;
  expect(output).not.toMatch(
    /^ +at |Cannot read prop|is not (a function|iterable)|Unexpected (token|end)|SyntaxError|TypeError/m,
  );
  return { code, output };
}

function replace(file: string, text: string): void {
  rmSync(join(folder, file), { recursive: true, force: true });
  writeFileSync(join(folder, file), text);
}

const TS = ['--import', 'tsx'];

test('verify passes no check if it gets unexpected responses', async () => {
  const { code, output } = await run([
    ...TS,
    'deploy/verify.ts',
    '--url',
    `http://${address}`,
    '--key-file',
    'api-key',
  ]);
  expect(output).toMatch(/\n0 of \d+ checks passed\n$/);
  expect(code).toBe(1);
});

test('deploy:check reports unexpected answers of Google as unknown, and names a firebase.json that it cannot read', async () => {
  const env = { GOOGLE_API_ENDPOINT: `http://${address}`, CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token' };
  const program = [...TS, 'deploy/deploy-check.ts', '--project', 'my-project'];
  const { output } = await run(program, env);
  expect(output).toMatch(/^Could not be checked/m);
  for (const text of ['', 'null', '{"firestore":[]}']) {
    replace('firebase.json', text);
    const told = 'the "database" of "firestore" in firebase.json cannot be read\n';
    expect(await run(program, env)).toEqual({ code: 1, output: told });
  }
});

test('the programs of set-up.sh name the answer that they cannot read', async () => {
  for (const text of TEXTS.slice(0, 6)) {
    replace('answer', text);
    expect(await run([...TS, 'deploy/set-up/rules.ts', 'answer'])).toEqual({
      code: 1,
      output: "The answer of Google's Rules API cannot be read\n",
    });
    expect(await run([...TS, 'deploy/set-up/missing-indexes.ts', 'answer'])).toEqual({
      code: 1,
      output: 'The output of firebase firestore:indexes cannot be read\n',
    });
  }
});

test('the command names an address where no Firestore responds, and a .firebaserc without a default project', async () => {
  const list = [...TS, 'command/cli/price-lists.ts', 'list'];
  const { code, output } = await run(list, { FIRESTORE_EMULATOR_HOST: address });
  expect(output).toContain(`No Firestore responds at ${address}`);
  expect(code).toBe(1);
  for (const text of TEXTS.slice(6, 9)) {
    replace('.firebaserc', text);
    expect((await run(list)).output).toContain('has no .firebaserc with a default project');
  }
});
