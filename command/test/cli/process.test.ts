import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { startProgram } from '../../../dev/run/programs';
import * as main from '../../cli/main';
import type { KeyLists } from '../../../functions/src/lib/schemas/key-record';
import { submitAndFail } from '../../../test/harness/price-lists';
import { usePriceListService } from '../../../test/harness/price-list-service';
import { createPriceListBody } from '../../../test/harness/submissions';
import { waitUntilFired } from '../../../test/harness/wait-for';
import { runCommand } from '../../../test/harness/command';

/** Tests the command's exit codes, signals, and outputs that cannot be written, mostly in its own process, as an operator runs it. */

const { service, getKey, failAttempt } = usePriceListService();
const folder = mkdtempSync(join(tmpdir(), 'command-'));
const PROGRAM = join(folder, 'price-lists.cjs');

/** Bundles the command, so that it starts fast. Its packages stay outside the bundle. */
beforeAll(() =>
  build({
    entryPoints: ['command/cli/price-lists.ts'],
    outfile: PROGRAM,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    logLevel: 'error',
  }),
);
afterAll(() => rmSync(folder, { recursive: true }));

function startIn(executable: string, ...args: string[]) {
  const env = {
    // With these variables, the bundle finds its packages and the Firestore of its test from any folder.
    NODE_PATH: resolve('node_modules'),
    FIRESTORE_EMULATOR_HOST: process.env['FIRESTORE_EMULATOR_HOST'],
    GCLOUD_PROJECT: process.env['GCLOUD_PROJECT'],
    METADATA_SERVER_DETECTION: 'none',
    NODE_COMPILE_CACHE: join(folder, 'compile-cache'),
  };
  const child = startProgram(executable, args, { env });
  const written = { out: '', err: '' };
  child.stdout.on('data', (data: Buffer) => (written.out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (written.err += data.toString()));
  const output = once(child, 'close').then(([code]) => ({ code: code as number | null, ...written }));
  return { process: child, output };
}

const start = (...args: string[]) => startIn(process.execPath, PROGRAM, ...args);

/** Runs a line in `sh`. In the line, `"$@"` is the command with its arguments. */
const runInShell = (line: string, ...args: string[]) =>
  startIn('sh', '-c', line, 'sh', process.execPath, PROGRAM, ...args).output;

const readRecord = async (key: string) => (await getKey(key).get()).data();

/** Delays the commits of a key's entries. @param until the end of the delay; undefined for an endless one */
async function delayEntries(key: string, until?: Promise<unknown>) {
  const { expected_forward_cost_id, price_list_id } = (await readRecord(key))?.['lists'] as KeyLists;
  const isOfKey = (name: string) =>
    [expected_forward_cost_id, price_list_id].some((id) => name.includes(`/${id}/products/`));
  return service.firestore.faults.inject({
    rpc: 'Commit',
    match: ({ request }) => request.writes.some(({ name }) => isOfKey(name)),
    times: 100,
    action: until === undefined ? { kind: 'hang' } : { kind: 'call', run: () => until },
  });
}

test('a resume that is stopped by Ctrl-C fails its attempt without counting a failed try, ends within 8 s, and says who resumes the key', async () => {
  await failAttempt('a');
  const hung = await delayEntries('a');
  const resume = start('resume', 'a', '--yes');
  await waitUntilFired(hung, resume.output);
  const signalledAt = performance.now();
  resume.process.kill('SIGINT');
  const { code, err } = await resume.output;
  const text = 'Stopped by SIGINT. The sweep resumes the attempt, or you can resume it again.\n';
  expect([code, err]).toEqual([1, expect.stringContaining(text)]);
  expect(performance.now() - signalledAt).toBeLessThan(8_000);
  service.firestore.faults.clear();
  const stopped = { status: 'requires_review', failure_cause: 'stopped', failed_tries: 0 };
  expect(await readRecord('a')).toMatchObject(stopped);
  expect((await runCommand('resume', 'a', '--yes')).code).toBe(0);
});

test('a sweep that is stopped by SIGHUP while it reads the keys says so and exits with 1', async () => {
  const action = { kind: 'hang' } as const;
  const hung = service.firestore.faults.inject({ rpc: 'RunQuery', times: Infinity, action });
  const sweep = start('sweep');
  await waitUntilFired(hung, sweep.output);
  sweep.process.kill('SIGHUP');
  const { code, err } = await sweep.output;
  expect([code, err]).toEqual([1, expect.stringContaining('Stopped before any key was swept.')]);
});

test('if its output is closed, a sweep fails the attempt that it is resuming, as after Ctrl-C', async () => {
  for (const key of ['a', 'b']) await failAttempt(key, { failure_cause: 'stopped' });
  const hung = await delayEntries('b');
  await delayEntries('a', hung.fired);
  const sweep = start('sweep');
  // The first line is about `a`, and the sweep writes it while `b` is in progress.
  sweep.process.stdout.destroy();
  const { code, err } = await sweep.output;
  expect([code, err]).toEqual([1, expect.not.stringContaining('EPIPE')]);
  service.firestore.faults.clear();
  expect(await readRecord('a')).toMatchObject({ status: 'completed' });
  expect(await readRecord('b')).toMatchObject({ status: 'requires_review', failure_cause: 'stopped', failed_tries: 1 });
});

describe('an output that could not be written makes the exit code 1', () => {
  const lost = { code: 1, err: expect.stringContaining('The output could not be written: ENOSPC') as string };

  test('on a full disk', async () => {
    expect(await runInShell('"$@" >/dev/full', 'list')).toMatchObject(lost);
    expect(await runInShell('"$@" 2>/dev/full', 'list')).toMatchObject({ code: 1 });
  });

  test('on a pipe that was closed, without a message', async () => {
    await failAttempt('a');
    const { err } = await runInShell('{ "$@"; echo "exit $?" >&2; } | true', 'report');
    expect(err).toMatch(/^Project .*\n\nexit 1\n$/);
  });

  test('in a sweep, and the key that the sweep could not report stays due', async () => {
    await failAttempt('a', { failed_tries: 4, failure_cause: 'unavailable' });
    expect(await runInShell('"$@" >/dev/full', 'sweep', '--json')).toMatchObject(lost);
    expect(JSON.parse((await runCommand('sweep', '--json')).out)).toMatchObject({ boq_list_id: 'a', result: 'left' });
    expect((await runCommand('sweep', '--json')).out).toBe('');
  });

  test('if its last part does not fit into the file', async () => {
    await submitAndFail(service, createPriceListBody(100, { boq_list_id: 'a' }));
    const file = join(folder, 'cut.json');
    // One block is 512 or 1,024 bytes.
    const cut = await runInShell('ulimit -f 1; "$@" >' + file, 'show', 'a', '--payload', '-');
    expect(cut).toMatchObject({ code: 1, err: expect.stringContaining('The output could not be written') as string });
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  test('if the reader of a pipe has ended', async () => {
    const { out } = await runInShell('exec 3>&1; { "$@"; echo "code $?" >&3; } | true', 'list');
    expect(out).toBe('code 1\n');
  });
});

test('a payload file that cannot be written completely does not remain, so the same command can write it later', async () => {
  await failAttempt('a');
  const file = join(folder, 'payload.json');
  const cut = await runInShell('ulimit -f 0; "$@"', 'show', 'a', '--payload', file);
  expect(cut).toMatchObject({ code: 1, err: expect.stringContaining('cannot be written: EFBIG') as string });
  expect(readdirSync(folder)).not.toContainEqual(expect.stringContaining('payload'));
  expect(await runCommand('show', 'a', '--payload', file)).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('products');
});

test('help exits with 0, and wrong arguments exit with 2', async () => {
  const usage = expect.stringMatching(/^Usage:/) as string;
  expect(await runInShell('"$@"', 'help')).toMatchObject({ code: 0, out: usage });
  expect(await runInShell('"$@"', '--project', 'x')).toMatchObject({ code: 2, out: '' });
});

test('a command whose promise never settles exits with 1', async () => {
  jest.spyOn(main, 'runPriceLists').mockReturnValue(new Promise<never>(() => undefined));
  const { exitCode } = process;
  await import('../../cli/price-lists');
  const unsettled = process.exitCode;
  process.exitCode = exitCode;
  expect(unsettled).toBe(1);
});
