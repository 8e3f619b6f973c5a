import { on } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { checkInvariants } from '../resilience/invariants';
import { submitAndFail, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody, parseSubmission } from '../support/submissions';
import { buildCommand, runCommand, type CommandOutput, type CommandProgram, type RunningCommand } from './command';

/** The sweep over attempts that crashed or failed, in processes of its own where that matters. */

jest.setTimeout(120_000);

const service = useTestService({ addPriceLists });
let command: CommandProgram;
beforeAll(async () => {
  useTestBatches();
  command = await buildCommand({ MAX_ENTRIES_PER_COMMIT: TEST_BATCH });
});
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});
afterAll(async () => {
  await command.remove();
});

/** Three batches a list, the last of which is not full. */
const createBody = (key: string) => createPriceListBody(2 * TEST_BATCH + 3, { boq_list_id: key });

const getKey = (key: string) => service.db.collection('price_list_idempotency').doc(keyDocumentId(key));

/** Submits a price list whose second commit of entries fails with a permanent error, then updates its key record. */
async function failAttempt(key: string, update: Record<string, unknown>): Promise<void> {
  await submitAndFail(service, createBody(key));
  if (Object.keys(update).length > 0) await getKey(key).update(update);
}

const CRASHED = { status: 'processing', failure: null, failure_cause: null, lease_expires_at: 1 };
const STOPPED = { failure_cause: 'stopped' };

interface SweepLine {
  boq_list_id: string;
  result: string;
  reason: string | null;
}

const sweep = async (...args: string[]): Promise<SweepLine[]> =>
  parseLines(await runCommand('sweep', '--json', '--left', ...args));

function parseLines({ code, out }: CommandOutput): SweepLine[] {
  expect(code).toBe(0);
  const lines = out.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as SweepLine).sort((a, b) => (a.boq_list_id < b.boq_list_id ? -1 : 1));
}

const getResults = (lines: readonly SweepLine[]) => lines.map(({ boq_list_id, result }) => [boq_list_id, result]);

async function expectReplayed(key: string): Promise<void> {
  const { status, headers } = await service.call('addPriceLists', { json: createBody(key) });
  expect([status, headers['idempotent-replayed']]).toEqual([200, 'true']);
}

test('resumes what crashed or was stopped, and leaves the rest to an operator with the reason', async () => {
  const live = { ...CRASHED, lease_expires_at: Date.now() + 600_000 };
  await failAttempt('crashed', CRASHED);
  await failAttempt('stopped', STOPPED);
  await failAttempt('rejected', {});
  await failAttempt('exhausted', { ...STOPPED, automatic_resumes: 3 });
  await failAttempt('incomplete', STOPPED);
  await failAttempt('in progress', live);
  const [chunk] = (
    await service.db
      .collection(`price_list_requests/${String((await getKey('incomplete').get()).get('document_id'))}/payload`)
      .get()
  ).docs;
  await chunk?.ref.delete();

  const dry = await sweep('--dry-run');
  expect(getResults(dry)).toEqual([
    ['crashed', 'would_resume'],
    ['exhausted', 'left'],
    ['incomplete', 'would_resume'],
    ['rejected', 'left'],
    ['stopped', 'would_resume'],
  ]);
  expect((await getKey('crashed').get()).get('status')).toBe('processing');

  const lines = await sweep();
  expect(getResults(lines)).toEqual([
    ['crashed', 'resumed'],
    ['exhausted', 'left'],
    ['incomplete', 'left'],
    ['rejected', 'left'],
    ['stopped', 'resumed'],
  ]);
  expect(lines.map(({ reason }) => reason)).toEqual([
    null,
    expect.stringContaining('resumed 3 times without an operator'),
    expect.stringContaining('0 of its 1 chunks'),
    expect.stringContaining('the failure is not transient'),
    null,
  ]);
  for (const key of ['crashed', 'stopped']) {
    await expectReplayed(key);
    expect((await getKey(key).get()).data()).toMatchObject({
      automatic_resumes: 1,
      actions: [{ action: 'resume', by: 'sweep' }],
    });
  }
  expect((await getKey('in progress').get()).data()).toMatchObject(live);
  expect(getResults(await sweep('--max-attempts', '4'))).toContainEqual(['exhausted', 'resumed']);
  await expectReplayed('exhausted');
});

test('two sweeps at the same time resume each attempt once', async () => {
  const keys = ['a', 'b', 'c', 'd'];
  for (const key of keys) await failAttempt(key, CRASHED);
  const both = await Promise.all([command.start('sweep', '--json').output, command.start('sweep', '--json').output]);
  both.forEach(parseLines);
  for (const key of keys) {
    await expectReplayed(key);
    expect((await getKey(key).get()).get('actions')).toHaveLength(1);
  }
  await checkInvariants(
    service.db,
    keys.map((key) => parseSubmission(createBody(key))),
  );
});

test('with --watch it resumes an attempt as soon as its lease expires, and ends at a signal', async () => {
  await failAttempt('crashed', { ...CRASHED, lease_expires_at: Date.now() + 3_000 });
  const watching = command.start('sweep', '--watch', '1h', '--json');
  while ((await getKey('crashed').get()).get('status') !== 'completed') await delay(200);
  await expectReplayed('crashed');
  watching.process.kill('SIGTERM');
  const { code, out } = await watching.output;
  expect([code, out]).toEqual([0, expect.stringContaining('"result":"resumed"')]);
});

test('with --watch one scan resumes every key that is due, behind keys that are left to an operator too', async () => {
  const rejected = ['a', 'b', 'c', 'd'];
  for (const key of rejected) await failAttempt(key, {});
  const due = ['e', 'f', 'g', 'h', 'i', 'j'];
  for (const key of due) await failAttempt(key, STOPPED);
  const watching = command.start('sweep', '--watch', '1h', '--json');
  const completed = service.db.collection('price_list_idempotency').where('status', '==', 'completed');
  for (let waited = 0; waited < 30_000 && (await completed.get()).size < due.length; waited += 200) await delay(200);
  watching.process.kill('SIGTERM');
  const { out } = await watching.output;
  expect(out.split('"result":"resumed"')).toHaveLength(1 + due.length);
  for (const key of due) await expectReplayed(key);
});

test('a sweep that is stopped in the middle gives its attempt back, and the next one completes it', async () => {
  await failAttempt('crashed', CRASHED);
  const hung = service.firestore.faults.inject({
    rpc: 'Commit',
    match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
    times: 100,
    action: { kind: 'hang' },
  });
  const stopped = command.start('sweep', '--json');
  await hung.fired;
  stopped.process.kill('SIGTERM');
  expect((await stopped.output).out).toContain('"result":"deferred"');
  service.firestore.faults.clear();
  expect((await getKey('crashed').get()).data()).toMatchObject({ status: 'requires_review', failure_cause: 'stopped' });
  expect(getResults(await sweep())).toEqual([['crashed', 'resumed']]);
  await expectReplayed('crashed');
});

test('names a key record that it cannot read, with --watch once, and resumes the others', async () => {
  await failAttempt('newer', { ...STOPPED, schema_version: 2 });
  await failAttempt('first', CRASHED);
  const warning = `price_list_idempotency/${keyDocumentId('newer')} cannot be read: it is left out.\n`;
  expect(await runCommand('sweep')).toMatchObject({ code: 0, err: expect.stringContaining(warning) as string });
  await expectReplayed('first');
  const watching = command.start('sweep', '--watch', '1s');
  for (const key of ['second', 'third']) {
    // Found by a look of its own.
    await failAttempt(key, CRASHED);
    while ((await getKey(key).get()).get('status') !== 'completed') await delay(200);
  }
  watching.process.kill('SIGTERM');
  expect((await watching.output).err.split(warning)).toHaveLength(2);
});

test('a single sweep counts what is left to operators, and prints each key with --left', async () => {
  for (const key of ['a', 'b']) await failAttempt(key, {});
  const { code, out, err } = await runCommand('sweep');
  expect([code, out]).toEqual([
    0,
    '2 keys are left to an operator: npm run price-lists -- list, or sweep --left with the reasons\n',
  ]);
  expect(err).toContain('Nothing to do: no attempt is due.\n');
  const counted = { boq_list_id: null, document_id: null, result: 'left', reason: null, keys: 2 };
  expect(parseLines(await runCommand('sweep', '--json'))).toEqual([expect.objectContaining(counted)]);
  const each = await runCommand('sweep', '--left');
  expect(each.out.match(/^.*"[ab]" left to an operator: .+$/gm)).toHaveLength(2);
  expect(each.out).not.toContain('keys are');
});

test('a sweep with nothing to do says so', async () => {
  const { code, out, err } = await runCommand('sweep');
  expect([code, out]).toEqual([0, '']);
  expect(err).toContain('Nothing to do: no attempt is due.\n');
});

/** Resolves when the process has printed a text on standard error. */
async function printed({ process }: RunningCommand, text: string): Promise<void> {
  let err = '';
  for await (const [data] of on(process.stderr ?? process, 'data') as AsyncIterable<[Buffer]>) {
    err += data.toString();
    if (err.includes(text)) return;
  }
}

test('--watch says that it watches, and how to stop', async () => {
  const sentence = 'Watching: scans every 90 s, and when a lease expires. Ctrl-C stops it.\n';
  const watching = command.start('sweep', '--watch', '90s');
  await printed(watching, sentence);
  watching.process.kill('SIGINT');
  expect(await watching.output).toMatchObject({ code: 0, out: '' });
});

test('a sweep whose output is closed gives its attempts back, as with Ctrl-C', async () => {
  for (const key of ['a', 'b']) await failAttempt(key, CRASHED);
  await failAttempt('left', { status: 'released' });
  const entries = service.firestore.faults.inject({
    rpc: 'Commit',
    match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
    times: 100,
    action: { kind: 'hang' },
  });
  const watching = command.start('sweep', '--json', '--watch', '1s');
  watching.process.stdout?.destroy();
  await entries.fired;
  // Has it print a line, which nobody reads.
  await getKey('left').update({ status: 'requires_review' });
  const { code, err } = await watching.output;
  expect([code, err]).toEqual([0, expect.not.stringContaining('EPIPE')]);
  service.firestore.faults.clear();
  for (const key of ['a', 'b']) {
    expect((await getKey(key).get()).data()).toMatchObject({ status: 'requires_review', failure_cause: 'stopped' });
  }
});
