import { FieldValue } from 'firebase-admin/firestore';
import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { checkInvariants } from '../resilience/invariants';
import { submitAndFail, updateKey, writeMarket } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody, parseSubmission } from '../support/submissions';
import { buildCommand, runCommand, type CommandOutput, type CommandProgram } from './command';

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
  if (Object.keys(update).length > 0) await updateKey(getKey(key), update);
}

const CRASHED = { status: 'processing', failure: null, failure_cause: null, lease_expires_at: 1 };
const STOPPED = { failure_cause: 'stopped' };

interface SweepLine {
  boq_list_id: string;
  result: string;
  reason: string | null;
}

const sweep = async (...args: string[]): Promise<SweepLine[]> =>
  parseLines(await runCommand('sweep', '--json', ...args));

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
  await failAttempt('exhausted', { ...CRASHED, automatic_resumes: 3 });
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
    ['stopped', 'would_resume'],
  ]);
  expect((await getKey('crashed').get()).get('status')).toBe('processing');

  const lines = await sweep();
  expect(getResults(lines)).toEqual([
    ['crashed', 'resumed'],
    ['exhausted', 'left'],
    ['incomplete', 'left'],
    ['stopped', 'resumed'],
  ]);
  expect(lines.map(({ reason }) => reason)).toEqual([
    null,
    expect.stringContaining('resumed 3 times without an operator'),
    expect.stringContaining('0 chunks are stored in place of 1'),
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

test('names a key record that it cannot read, and resumes the others', async () => {
  await failAttempt('newer', STOPPED);
  await getKey('newer').update({ schema_version: 2 });
  await failAttempt('first', CRASHED);
  const warning = `price_list_idempotency/${keyDocumentId('newer')} cannot be read, and is left out. `;
  expect(await runCommand('sweep')).toMatchObject({ code: 0, err: expect.stringContaining(warning) as string });
  await expectReplayed('first');
});

test('a sweep of all keys finds those of a version that gave them no time', async () => {
  await failAttempt('older', CRASHED);
  await getKey('older').update({ sweep_due_at: FieldValue.delete() });
  expect(await sweep()).toEqual([]);
  expect(getResults(await sweep('--all'))).toEqual([['older', 'resumed']]);
  await expectReplayed('older');
});

test.each([
  [['--watch', '30s'], 'by a line of cron'],
  [['--left'], '`list` prints the keys'],
  [['--max-attempts=4'], '`resume` resumes a key'],
])('%j is refused with what takes its place', async (args, instead) => {
  const { code, out, err } = await runCommand('sweep', ...args);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(instead);
});

test('a sweep with nothing to do says so', async () => {
  const { code, out, err } = await runCommand('sweep');
  expect([code, out]).toEqual([0, '']);
  expect(err).toContain('Nothing to do: no attempt is due.\n');
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
  const watching = command.start('sweep', '--json');
  watching.process.stdout?.destroy();
  await entries.fired;
  // Found when the sweep asks again: it prints a line, which nobody reads.
  await updateKey(getKey('left'), { ...CRASHED, automatic_resumes: 3 });
  const { code, err } = await watching.output;
  expect([code, err]).toEqual([0, expect.not.stringContaining('EPIPE')]);
  service.firestore.faults.clear();
  for (const key of ['a', 'b']) {
    expect((await getKey(key).get()).data()).toMatchObject({ status: 'requires_review', failure_cause: 'stopped' });
  }
});
