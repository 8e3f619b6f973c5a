import { readFileSync } from 'node:fs';
import { LEASE_DURATION_MS } from '../../functions/src/lib/time-limits';
import { parseLines, runCommand } from '../harness/command';
import { useFailedAttempts } from '../harness/failed-attempts';
import { readAllDocuments } from '../harness/firestore';

/** Follows both restores of docs/runbook.md with `price-lists` commands, from a backup that has keys in every state. */

const { database, create, fail, crash } = useFailedAttempts();

/** Sends the price list of a key. @returns the document id in the response, and whether it is a replay */
async function send(key: string, market_id = 'market-1'): Promise<{ id: string; replayed: boolean }> {
  const { response, replayed } = await create(key, { market_id });
  return { id: (JSON.parse(response) as { document_id: string }).document_id, replayed };
}

const run = async (...args: string[]) => (await runCommand(...args, '--json')).out;
const runForLines = async (...args: string[]) => parseLines(await run(...args)) as Record<string, string>[];
const act = (action: 'resume' | 'release', key: string) => run(action, key, '--reason', 'test', '--yes');

/** Returns the keys that `list` shows, with their statuses. */
async function list(): Promise<Record<string, string>> {
  const keys = JSON.parse(await run('list')) as { boq_list_id: string; status: string }[];
  return Object.fromEntries(keys.map(({ boq_list_id, status }) => [boq_list_id, status]));
}

/** Returns the rule of each violation that the audit finds, with the key or `null`. */
async function audit(): Promise<string[]> {
  const violations = (await runForLines('audit', '--full')).slice(0, -1);
  return violations.map(({ rule, boq_list_id }) => `${rule} ${boq_list_id}`).sort();
}

/** Runs a sweep, and returns the results by key. */
const sweep = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await runForLines('sweep')).map(({ boq_list_id = '', result = '' }) => [boq_list_id, result]));

type Backup = Awaited<ReturnType<typeof readAllDocuments>>;

/** Replaces documents and deletes none, as an import does. */
async function importDocuments(documents: Backup): Promise<void> {
  for (const document of documents) await database.client.doc(document.ref.path).set(document.data());
}

const order = () => database.client.doc('orders/order-1');
const readOrder = async () => (await order().get()).get('status') as unknown;

/** Takes a backup of keys in every state. Then an hour passes, keys change, and documents are lost. @returns the backup, and the document ids of the later attempts by key */
async function goOnAfterBackup(): Promise<{ backup: Backup; later: Map<string, string> }> {
  const { client, clock } = database;
  await order().set({ status: 'before' });
  await send('completed');
  await send('without lists', 'none');
  await fail('failed');
  for (const key of ['released', 'claimed again']) {
    await fail(key);
    await act('release', key);
  }
  await send('claimed again');
  expect(await sweep()).toEqual({ failed: 'left' });
  await fail('unavailable', { failure_cause: 'unavailable' });
  for (const key of ['crashed', 'reused', 'given up']) await crash(key);
  clock.advance(LEASE_DURATION_MS);
  await crash('in progress');
  const backup = await readAllDocuments(client);

  clock.advance(3_600_000);
  await order().set({ status: 'after' });
  await act('resume', 'failed');
  for (const key of ['reused', 'given up']) await act('release', key);
  expect(await sweep()).toEqual({ unavailable: 'resumed', crashed: 'resumed', 'in progress': 'resumed' });
  const later = new Map<string, string>();
  for (const key of ['released', 'reused', 'accepted']) later.set(key, (await send(key)).id);
  expect([await list(), await audit()]).toEqual([{}, []]);
  // The accident: requests, payloads and entries are deleted.
  for (const { ref } of backup) if (/requests|products/.test(ref.path)) await ref.delete();
  return { backup, later };
}

const IN_PROGRESS = {
  crashed: 'processing',
  reused: 'processing',
  'given up': 'processing',
  'in progress': 'processing',
};
/** The unresolved keys of the backup, which `list` shows after a restore. */
const RETURNED = { ...IN_PROGRESS, failed: 'requires_review', unavailable: 'requires_review' };
/** What the audit reports of keys that have waited for the sweep since the backup. */
const OVERDUE = ['lease crashed', 'lease given up', 'lease in progress', 'lease reused', 'sweep_due_at unavailable'];
const RESUMED = { unavailable: 'resumed', crashed: 'resumed', 'in progress': 'resumed' };
/** The violations for the request record and both lists of the later attempts on `released` and `reused`. */
const LATER = Array.from({ length: 6 }, () => 'reference null');

async function expectReplayed(...keys: string[]): Promise<void> {
  for (const key of keys) expect([key, (await send(key)).replayed]).toEqual([key, true]);
}

test('an import restores the keys of the backup, and keeps a key that was first claimed later', async () => {
  const { backup, later } = await goOnAfterBackup();
  const [, ours = ''] = /^ *ours=(.*)$/m.exec(readFileSync('docs/runbook.md', 'utf8')) ?? [];
  await importDocuments(backup.filter(({ ref }) => ours.split(',').includes(ref.parent.id)));
  expect([await audit(), await list(), await readOrder()]).toEqual([[...OVERDUE, ...LATER].sort(), RETURNED, 'after']);

  await act('resume', 'failed');
  for (const key of ['reused', 'given up']) await act('release', key);
  expect(await sweep()).toEqual(RESUMED);
  expect([await audit(), await list()]).toEqual([LATER, {}]);
  expect(await send('accepted')).toEqual({ id: later.get('accepted'), replayed: true });
  await expectReplayed('completed', 'failed', 'unavailable', 'crashed', 'in progress', 'claimed again');
  for (const key of ['released', 'reused']) expect((await send(key)).replayed).toBe(false);
  expect(await audit()).toEqual(LATER);
});

test('a restored database has only the backup, and a request for a key that is missing or released there creates new lists', async () => {
  const { backup, later } = await goOnAfterBackup();
  // The connection of a process has one database, so the test empties this database instead of restoring into another one.
  // functions/test/endpoints/database-id.test.ts tests another database.
  database.firestore.clear();
  await importDocuments(backup);
  expect([await audit(), await list(), await readOrder()]).toEqual([OVERDUE, RETURNED, 'before']);

  await act('resume', 'failed');
  for (const key of ['reused', 'given up']) await act('release', key);
  expect(await sweep()).toEqual(RESUMED);
  expect([await audit(), await list()]).toEqual([[], {}]);
  for (const key of ['accepted', 'released', 'reused', 'given up']) {
    const { id, replayed } = await send(key);
    expect([id === later.get(key), replayed]).toEqual([false, false]);
  }
  await expectReplayed('completed', 'failed', 'unavailable', 'crashed', 'in progress', 'claimed again');
  expect(await audit()).toEqual([]);
});
