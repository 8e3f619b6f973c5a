import { readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { respond, startStub } from '../../test/harness/stub-service';
import { readKeyFile } from '../verify/key-file';
import { runProgram, runProgramSync } from '../../dev/run/programs';
import {
  cleanUp,
  createFirestoreClient,
  startLocalServer,
  temporaryFolder,
  type LocalServer,
} from '../../test/harness/local-server';

/** Tests `npm run verify` against `npm start` and a stub, and how the program reads the file of --key-file. */

function writeKeyFile(content: string | Buffer): string {
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, content);
  return file;
}

const keyFile = writeKeyFile('local-dev-key\n');
let local: LocalServer;
let url: string;
beforeAll(async () => {
  local = await startLocalServer({});
  url = local.address('getTeams').replace(/\/getTeams$/, '');
});
afterAll(cleanUp);

const PROGRAM = ['--import', 'tsx', 'deploy/verify.ts'];

const verify = (...args: string[]) => runProgramSync(process.execPath, [...PROGRAM, ...args]);

test('every operation responds as described, and `npm run verify` writes nothing', async () => {
  const { status, stdout } = verify('--url', `${url}//`, '--key-file', keyFile);
  expect(stdout).not.toContain('FAILED');
  expect(stdout).toMatch(/ok {6}getWarehouses: a preflight of an origin that is not allowed is 403\n/);
  for (const each of [
    'getOrdersByTeam: a request for the status WAITING',
    'supplyOrdersInvoices: a request for the status 0',
  ])
    expect(stdout).toContain(`ok      ${each} is 200\n`);
  expect(status).toBe(0);
  const db = createFirestoreClient(local.firestoreAddress);
  expect((await db.collection('price_list_idempotency').get()).size).toBe(0);
  await db.terminate();
});

test('with --market, `npm run verify` creates a price list, and sends its key again, with the same payload and with a different one', () => {
  const { status, stdout } = verify('--url', url, '--key-file', keyFile, '--market', 'mkt-ken');
  expect(stdout).toMatch(
    /: creates verify-.*\nok .*: the same request gets the same response\nok .*: another payload under the same boq_list_id is 409\n/,
  );
  expect(status).toBe(0);
});

test('the checks of `npm run verify` pass during a pause of writes, and the request to add price lists in docs/runbook.md shows the pause', async () => {
  const paused = await startLocalServer({ WRITES_PAUSED: 'true' });
  const address = paused.address('getTeams').replace(/\/getTeams$/, '');
  expect(verify('--url', address, '--key-file', keyFile)).toMatchObject({ status: 0 });
  const [command = ''] = /sed .*\n *curl .*addPriceLists"/.exec(readFileSync('docs/runbook.md', 'utf8')) ?? [];
  const send = (base: string) =>
    runProgramSync('sh', ['-c', `cat "$1" | ${command.replace(/https:.*net/, base)}`, 'sh', keyFile]).stdout;
  expect(send(address)).toMatch(/^HTTP\/1\.1 503 [^]*"Price lists are paused"/);
  expect(send(url)).toMatch(/^HTTP\/1\.1 400 /);
});

test('`npm run verify` names each response that is not as described', async () => {
  const stub = await startStub(Array<RequestListener>(50).fill(respond(200, '{}')));
  const run = runProgram(process.execPath, [...PROGRAM, '--url', stub.url, '--key-file', keyFile]);
  const stdout = expect.stringMatching(
    /^FAILED {2}getTeams: a request is 200\n[^]*\n0 of \d+ checks passed\n$/m,
  ) as string;
  await expect(run).rejects.toMatchObject({ code: 1, stdout });
});

test('with wrong arguments, `npm run verify` says what is wrong and exits with 64', () => {
  const { status, stderr } = verify('--url', url);
  expect([status, stderr]).toEqual([64, expect.stringContaining('--url and --key-file are required.')]);
  const notHttp = verify('--url', '127.0.0.1:5001', '--key-file', keyFile);
  expect([notHttp.status, notHttp.stderr]).toEqual([
    64,
    expect.stringContaining('--url must be an address that begins with http'),
  ]);
});

describe('the file of --key-file', () => {
  test('can have a byte order mark, a blank line and a comment before the API key', () => {
    expect(readKeyFile(writeKeyFile('\ufeff\n# a comment\r\nlocal-dev-key\r\n'))).toBe('local-dev-key');
  });

  test('can have an API key with characters outside ASCII, which `fetch` sends as UTF-8 bytes', () => {
    const key = 'Schlüssel-ключ';
    expect(readKeyFile(writeKeyFile(key))).toBe(Buffer.from(key).toString('latin1'));
  });

  test.each<[string, Buffer]>([
    ['in UTF-16, as Windows PowerShell writes it,', Buffer.from('\ufefflocal-dev-key\r\n', 'utf16le')],
    ['with a space in the API key', Buffer.from('local dev-key\n')],
    ['with the digest of an API key', Buffer.from(`verify:${'0'.repeat(64)}\n`)],
    ['without an API key', Buffer.from('# none yet\n')],
  ])('%s is rejected', (_, bytes) => {
    expect(() => readKeyFile(writeKeyFile(bytes))).toThrow('does not begin with an API key');
  });
});
