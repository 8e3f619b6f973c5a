import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { readListEntries, type AddPriceListsBody } from '../support/price-lists';
import { startTestService, type TestService } from '../support/service';
import { writeRecords } from '../support/stored';
import { createPriceListBody } from '../support/submissions';

/** The command as an operator runs it, a process of its own, over records that the service left behind. */

const BODY = createPriceListBody(1_203, { boq_list_id: 'BOQ "7"' });
const KEY = BODY.info.boq_list_id;

const containing = (text: string) => expect.stringContaining(text) as string;
const anyString = expect.any(String) as string;
const anyNumber = expect.any(Number) as number;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  service.reset();
  await writeRecords(service.db, 'markets', {
    'market-1': { name: { en: 'Egypt' }, country_iso: 'EGY', currency_iso: 'EGP' },
  });
});
afterAll(() => service.close());

const post = (json: object = BODY) => service.call('addPriceLists', { json });

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

async function run(...args: string[]): Promise<Ran> {
  const command = ['--import', 'tsx', 'functions/cli/price-lists.ts', ...args];
  // Named, since a child would otherwise get the environment that the runner was started in.
  const child = execFile(process.execPath, command, { env: process.env });
  let out = '';
  let err = '';
  child.stdout?.on('data', (text: string) => (out += text));
  child.stderr?.on('data', (text: string) => (err += text));
  child.stdin?.end();
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

/** Posts a price list that fails when `batches` of its commits of entries have been written. */
async function postAndFail(batches: number): Promise<void> {
  service.firestore.faults.inject({
    rpc: 'Commit',
    match: ({ request }) => request.writes.some(({ name }) => name.includes('/products/')),
    nth: batches + 1,
    times: Number.MAX_SAFE_INTEGER,
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  expect((await post()).status).toBe(500);
  service.firestore.faults.clear();
}

/** Sets the lease of the key's record to one that has run out, as time would. */
const letLeaseRunOut = () =>
  service.db
    .collection('price_list_idempotency')
    .doc(keyDocumentId(KEY))
    .update({ status: 'processing', lease_expires_at: 1 });

async function expectReady(): Promise<AddPriceListsBody> {
  const replayed = await post();
  expect([replayed.status, replayed.headers['idempotent-replayed']]).toEqual([200, 'true']);
  const created = replayed.json as AddPriceListsBody;
  const { expected_forward_cost, price_list } = created;
  for (const [list, price] of [
    [`expected_forward_costs/${expected_forward_cost?.id ?? ''}`, 'expected_forward_cost_price'],
    [`price_lists/${price_list?.id ?? ''}`, 'price_list_price'],
  ] as const) {
    expect((await service.db.doc(list).get()).get('status')).toBe('ready');
    const wanted = Object.entries(BODY.products).map(([id, prices]) => [id, { [price]: prices[price] }]);
    expect(await readListEntries(service.db, list)).toEqual(Object.fromEntries(wanted));
  }
  return created;
}

test('list, show, resume: a failed attempt is found, looked at, and taken to ready lists', async () => {
  await postAndFail(2);
  expect(await run('list')).toMatchObject({ code: 0, out: containing('requires_review since') });
  const { out } = await run('list', '--json');
  expect(JSON.parse(out)).toMatchObject([
    { boq_list_id: KEY, status: 'requires_review', market_id: 'market-1', products_count: 1_203 },
  ]);

  const shown = JSON.parse((await run('show', KEY, '--json')).out) as { payload: object; failure: string };
  expect(shown).toMatchObject({ payload: { usable: true, name: BODY.info.name }, failure: anyString });
  const payload = JSON.parse((await run('show', KEY, '--payload', '-')).out) as object;
  expect(payload).toMatchObject({ products: BODY.products });

  expect(await run('resume', KEY)).toMatchObject({ code: 1, err: containing('say --yes') });
  expect((await post()).status).toBe(409);
  const resumed = await run('resume', KEY, '--yes', '--reason', 'checked', '--by', 'ada', '--json');
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.out)).toEqual(await expectReady());
  const record = await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get();
  expect(record.get('actions')).toEqual([{ action: 'resume', at: anyNumber, by: 'ada', reason: 'checked' }]);

  // Safe to run twice: the second finds the lists ready and says what the first said.
  expect((await run('resume', KEY, '--yes', '--json')).out).toBe(resumed.out);
  expect((await run('list')).out).toBe('No key is awaiting an operator.\n');
});

test('two resumes at once: the lists are ready once, and neither fails for the other', async () => {
  await postAndFail(1);
  const both = await Promise.all([run('resume', KEY, '--yes'), run('resume', KEY, '--yes')]);
  expect(both.map(({ code }) => code)).toContain(0);
  await expectReady();
});

test('an attempt whose lease has run out is listed and resumed; a live one is refused', async () => {
  await postAndFail(1);
  await letLeaseRunOut();
  expect((await run('list')).out).toContain('past its lease');
  expect((await run('list', '--older-than', '1d')).out).toBe('No key is awaiting an operator.\n');
  const record = service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY));
  await record.update({ lease_expires_at: Date.now() + 60_000 });
  expect((await run('list')).out).toBe('No key is awaiting an operator.\n');
  expect(await run('resume', KEY, '--yes')).toMatchObject({ code: 1, err: containing('is live') });
  expect(await run('release', KEY, '--reason', 'x', '--yes')).toMatchObject({ code: 1 });
  await letLeaseRunOut();
  expect((await run('resume', KEY, '--yes')).code).toBe(0);
  await expectReady();
});

test('release: the lists stay failed, the key is claimed afresh by another payload, and the history keeps the old one', async () => {
  await postAndFail(1);
  expect(await run('release', KEY, '--yes')).toMatchObject({ code: 2, err: containing('--reason') });
  expect((await run('release', KEY, '--reason', 'wrong prices', '--by', 'ada', '--yes')).code).toBe(0);
  const other = createPriceListBody(2, { boq_list_id: KEY, name: 'corrected' });
  expect((await post(other)).status).toBe(200);
  const record = (await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get()).data();
  expect(record).toMatchObject({
    status: 'completed',
    history: [{ products_count: 1_203 }],
    actions: [{ action: 'release', by: 'ada', reason: 'wrong prices' }],
  });
  const statuses = (await service.db.collection('price_lists').get()).docs.map((list) => String(list.get('status')));
  expect(statuses.sort()).toEqual(['failed', 'ready']);
  expect(await run('resume', KEY, '--yes')).toMatchObject({ code: 0 });
});

test('a payload that is not whole, or not what was accepted, can only be released, and is said so', async () => {
  await postAndFail(1);
  const [request] = (await service.db.collection('price_list_requests').get()).docs;
  const [chunk] = (await request?.ref.collection('payload').get())?.docs ?? [];
  await chunk?.ref.update({ data: Buffer.from('damaged') });
  expect(await run('resume', KEY, '--yes')).toMatchObject({
    code: 1,
    err: containing('only be released'),
  });
  await chunk?.ref.delete();
  expect(await run('resume', KEY, '--yes')).toMatchObject({
    code: 1,
    err: containing('0 of its 1 chunks'),
  });
  expect((await run('show', KEY)).out).toContain('can only be released');
  expect((await run('release', KEY, '--reason', 'damaged', '--yes')).code).toBe(0);
  expect((await post()).status).toBe(200);
});

test('what is no command is refused with what is wrong and the help', async () => {
  const misuses: [args: string[], reason: string][] = [
    [['frob'], 'not a command'],
    [['list', 'key'], 'takes no key'],
    [['show'], 'needs the boq_list_id'],
    [['list', '--status', 'lost'], '--status is one of'],
    [['list', '--older-than', 'soon'], '--older-than is a number'],
    [['list', '--yes'], 'does not go with list'],
    [['show', 'a', 'b'], 'one boq_list_id'],
  ];
  const ran = await Promise.all(misuses.map(([args]) => run(...args)));
  expect(ran).toMatchObject(misuses.map(([, reason]) => ({ code: 2, out: '', err: containing(reason) })));
  expect(ran[0]?.err).toContain('release <boq_list_id>');
});

test('a key that was never posted is said so', async () => {
  expect(await run('show', 'unknown')).toMatchObject({ code: 1, err: containing('No request') });
});
