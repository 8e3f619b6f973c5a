import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { TEST_PROJECT } from '../support/firestore';
import { readListEntries, submitAndFail, writeMarket, type AddPriceListsBody } from '../support/price-lists';
import { useTestService } from '../support/service';
import { writeRecords } from '../support/stored';
import { createPriceListBody } from '../support/submissions';
import { buildCommand, runCommand as run, runCommandAtTerminal, type CommandProgram } from './command';

/** The commands of an operator, over records that the service left behind. */

jest.setTimeout(120_000);

/** Three batches a list, the last of which is not full. */
const PRODUCTS = 2 * TEST_BATCH + 3;
const BODY = createPriceListBody(PRODUCTS, { boq_list_id: 'BOQ "7"' });
const KEY = BODY.info.boq_list_id;

const NOTHING = 'No key requires review.\nNo attempt is in progress.\n';

const containing = (text: string) => expect.stringContaining(text) as string;
const anyString = expect.any(String) as string;
const anyNumber = expect.any(Number) as number;

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

const submit = (json: object = BODY) => service.call('addPriceLists', { json });

/** Runs a command in a process of its own. */
const runProcess = (...args: string[]) => command.start(...args).output;

const failAfter = (commits: number) => submitAndFail(service, BODY, { commits });

/** Expires the lease of the key, as time would. */
const expireLease = () =>
  service.db
    .collection('price_list_idempotency')
    .doc(keyDocumentId(KEY))
    .update({ status: 'processing', lease_expires_at: 1 });

async function expectReady(): Promise<AddPriceListsBody> {
  const replayed = await submit();
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

test('list, show and resume take a failed attempt to ready lists', async () => {
  await failAfter(2);
  expect(await run('list')).toMatchObject({ code: 0, out: containing('requires_review since') });
  const { out } = await run('list', '--json');
  expect(JSON.parse(out)).toMatchObject([
    { boq_list_id: KEY, status: 'requires_review', market_id: 'market-1', products_count: PRODUCTS },
  ]);

  const shown = JSON.parse((await run('show', KEY, '--json')).out) as { payload: object; failure: string };
  expect(shown).toMatchObject({ payload: { usable: true, name: BODY.info.name }, failure: anyString });
  const payload = JSON.parse((await run('show', KEY, '--payload', '-')).out) as object;
  expect(payload).toMatchObject({ products: BODY.products });

  const unconfirmed = await run('resume', KEY);
  expect(unconfirmed).toMatchObject({ code: 1, err: containing('Pass --yes') });
  expect(unconfirmed.err).not.toContain('Failed:');
  const declined = await runCommandAtTerminal('n', 'resume', KEY);
  expect(declined.code).toBe(1);
  expect(declined.err).toMatch(/Go on\? \[y\/N\] Nothing was changed\.\n$/);
  expect((await submit()).status).toBe(409);
  const resumed = await run('resume', KEY, '--yes', '--reason', 'checked', '--by', 'ada', '--json');
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.out)).toEqual(await expectReady());
  const record = await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get();
  expect(record.get('actions')).toEqual([{ action: 'resume', at: anyNumber, by: 'ada', reason: 'checked' }]);

  // A second resume, in a process of its own, finds the lists ready and prints the same response.
  expect(await runProcess('resume', KEY, '--yes', '--json')).toEqual({ ...resumed, err: anyString });
  expect((await run('list')).out).toBe(NOTHING);
});

test('two resumes at the same time make the lists ready once', async () => {
  await failAfter(1);
  const both = await Promise.all([runProcess('resume', KEY, '--yes'), runProcess('resume', KEY, '--yes')]);
  expect(both.map(({ code }) => code)).toContain(0);
  await expectReady();
});

test('an attempt is listed and resumed once its lease expired, and rejected before', async () => {
  await failAfter(1);
  await expireLease();
  expect((await run('list')).out).toContain('lease expired');
  expect((await run('list', '--older-than', '1d')).out).toBe(NOTHING);
  const record = service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY));
  await record.update({ lease_expires_at: Date.now() + 60_000 });
  expect((await run('list')).out).toMatch(/^No key requires review.\n1 attempt is in progress; its lease lasts until /);
  expect(await run('resume', KEY, '--yes')).toMatchObject({ code: 1, err: containing('is in progress') });
  expect(await run('release', KEY, '--reason', 'x', '--yes')).toMatchObject({ code: 1 });
  await expireLease();
  expect((await run('resume', KEY, '--yes')).code).toBe(0);
  await expectReady();
});

test('release leaves the lists failed, another payload claims the key, and the history keeps the first attempt', async () => {
  await failAfter(1);
  expect(await run('release', KEY, '--yes')).toMatchObject({ code: 2, err: containing('--reason') });
  expect((await run('release', KEY, '--reason', 'wrong prices', '--by', 'ada', '--yes')).code).toBe(0);
  const other = createPriceListBody(2, { boq_list_id: KEY, name: 'corrected' });
  expect((await submit(other)).status).toBe(200);
  const record = (await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get()).data();
  expect(record).toMatchObject({
    status: 'completed',
    history: [{ products_count: PRODUCTS }],
    actions: [{ action: 'release', by: 'ada', reason: 'wrong prices' }],
  });
  const statuses = (await service.db.collection('price_lists').get()).docs.map((list) => String(list.get('status')));
  expect(statuses.sort()).toEqual(['failed', 'ready']);
  expect(await run('resume', KEY, '--yes')).toMatchObject({ code: 0 });
});

test('an attempt with an incomplete or damaged payload can only be released', async () => {
  await failAfter(1);
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
  expect((await submit()).status).toBe(200);
});

test('show finds a key by each id of its response and its log lines', async () => {
  const { json, headers } = await submit();
  const { document_id, expected_forward_cost, price_list } = json as AddPriceListsBody;
  const ids = [document_id, expected_forward_cost?.id, price_list?.id, headers['x-request-id'], keyDocumentId(KEY)];
  const shown = await Promise.all(ids.map((id) => run('show', String(id), '--json')));
  expect(shown.map(({ out }) => (JSON.parse(out) as { boq_list_id: string }).boq_list_id)).toEqual(ids.map(() => KEY));
});

test('several keys that are resumed are told apart line by line', async () => {
  await failAfter(1);
  const other = createPriceListBody(3, { boq_list_id: 'other' });
  expect((await submit(other)).status).toBe(200);
  const { code, out, err } = await run('resume', 'unknown', KEY, 'other', '--yes');
  expect([code, err]).toEqual([1, containing('"unknown": No request was ever accepted')]);
  expect(out.trim().split('\n')).toEqual([
    `"BOQ \\"7\\"": ready. From now on the client gets: ${(await submit()).text}`,
    `"other": ready. From now on the client gets: ${(await submit(other)).text}`,
  ]);
});

test('list and show name the next command to type, which a shell understands', async () => {
  await failAfter(1);
  expect((await run('list')).out).toMatch(/\nNext: npm run price-lists -- show 'BOQ "7"'\n$/);
  expect((await run('show', KEY)).out).toMatch(/\nNext: npm run price-lists -- resume 'BOQ "7"'\n$/);
  const { out } = await run('list', '--project', TEST_PROJECT);
  expect(out).toContain(`show --project ${TEST_PROJECT} 'BOQ "7"'`);
});

test('a completed key shows an earlier failure as history, and names no next command', async () => {
  await failAfter(1);
  expect((await run('show', KEY)).out).toMatch(/^ +failure +\S/m);
  await run('resume', KEY, '--yes');
  const { out } = await run('show', KEY);
  expect(out).not.toMatch(/^ +(failure|cause) /m);
  expect(out).toMatch(/^ +history +an earlier failure: /m);
  expect(out).not.toContain('Next:');
  expect((await run('list', '--status', 'completed')).out).not.toMatch(/^ +failure /m);
});

test('a thousand keys are listed with two counts each, their list documents a hundred keys at a time', async () => {
  await failAfter(1);
  const record = (await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get()).data() ?? {};
  const keys = Array.from({ length: 999 }, (_, i) => `many ${i}`);
  const records = keys.map((key) => [keyDocumentId(key), { ...record, boq_list_id: key }] as const);
  await writeRecords(service.db, 'price_list_idempotency', Object.fromEntries(records));
  const calls = service.recordCalls();
  const { out } = await run('list', '--json');
  expect(JSON.parse(out)).toHaveLength(1_000);
  const getCount = (rpc: string) => calls.filter((call) => call.rpc === rpc).length;
  // One read shows whether the database responds.
  expect(getCount('BatchGetDocuments')).toBe(1 + 10);
  expect(getCount('RunAggregationQuery')).toBe(2_000);
});

test('show says of a list that no key refers to that it exists', async () => {
  await service.db.doc('price_lists/alone').set({ status: 'ready' });
  expect(await run('show', 'alone')).toMatchObject({ code: 1, err: containing('No key refers to price_lists/alone') });
});

test('resume takes several keys, and one that cannot be resumed does not stop the others', async () => {
  await failAfter(1);
  const other = createPriceListBody(3, { boq_list_id: 'other' });
  expect((await submit(other)).status).toBe(200);
  const { code, out, err } = await run('resume', 'unknown', KEY, 'other', '--yes', '--json');
  expect(code).toBe(1);
  expect(err).toContain('"unknown": No request');
  expect(out.trim().split('\n')).toEqual([(await submit()).text, (await submit(other)).text]);
});

test('control characters in stored text never reach the terminal', async () => {
  const controls = '\u001b[2J\u001b]52;c;Zm9v\u0007\u007f\u009b31m';
  const key = `boq ${controls}`;
  const json = createPriceListBody(1, { boq_list_id: key, name: `name ${controls}` });
  expect((await submit(json)).status).toBe(200);
  const record = service.db.collection('price_list_idempotency').doc(keyDocumentId(key));
  const action = { action: 'resume', at: 0, by: `by ${controls}`, reason: `reason ${controls}` };
  await record.update({ failure: `failure ${controls}`, actions: [action] });
  const outputs = [
    await run('show', key),
    await run('show', key, '--json'),
    await run('list', '--status', 'completed'),
    await run('audit'),
    await run(key),
    await run('resume', key, '--yes'),
    await run('release', key, '--reason', 'x'),
    await run('show', `unknown ${controls}`),
  ];

  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;
  for (const { out, err } of outputs) expect(`${out}${err}`).not.toMatch(raw);
  for (const text of ['boq', 'name', 'failure', 'by', 'reason']) {
    expect(outputs[0]?.out).toContain(`${text} \\u001b[2J\\u001b]52;c;Zm9v\\u0007\\u007f\\u009b31m`);
  }
  expect((JSON.parse(outputs[1]?.out ?? '') as { boq_list_id: string }).boq_list_id).toBe(key);
});

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('a resume that gets %s', (signal) => {
  test.each([
    ['before its first entry', 'RunQuery', 'entries'],
    ['while it writes entries', 'Commit', 'products'],
  ] as const)('%s gives the key back and ends at once', async (_, rpc, what) => {
    await failAfter(1);
    const isEntries = (request: object) =>
      JSON.stringify(request).includes('"products"') || JSON.stringify(request).includes('/products/');
    const hung = service.firestore.faults.inject({
      rpc,
      match: ({ request }) => isEntries(request),
      times: 100,
      action: { kind: 'hang' },
    });
    const resume = command.start('resume', KEY, '--yes');
    await hung.fired;
    const signalledAt = performance.now();
    resume.process.kill(signal);
    const { code, err } = await resume.output;
    expect([what, code, err]).toEqual([what, 1, containing(`stopped by ${signal}`)]);
    expect(performance.now() - signalledAt).toBeLessThan(8_000);
    service.firestore.faults.clear();
    const record = await service.db.collection('price_list_idempotency').doc(keyDocumentId(KEY)).get();
    expect(record.data()).toMatchObject({ status: 'requires_review', failure_cause: 'stopped' });
    expect((await run('resume', KEY, '--yes')).code).toBe(0);
    await expectReady();
  });
});

test.each<[args: string[], error: string, usage: string]>([
  [['frob'], "unknown command 'frob'", '[options] [command]'],
  [['list', 'key'], "too many arguments for 'list'", 'list [options]'],
  [['list', '--status', 'lost'], 'Allowed choices are processing, completed', 'list [options]'],
  [['list', '--older-than', 'soon'], 'such as 30m', 'list [options]'],
  [['list', '--yes'], "unknown option '--yes'", 'list [options]'],
  [['show'], "missing required argument 'id'", 'show [options] <id>'],
  [['show', ''], 'An id is not empty', 'show [options] <id>'],
  [['show', 'a', 'b'], "too many arguments for 'show'", 'show [options] <id>'],
  [['resume'], "missing required argument 'boq_list_id'", 'resume [options] <boq_list_id...>'],
  [['release', 'a'], "required option '--reason <text>'", 'release [options] <boq_list_id>'],
  [['release', 'a', 'b', '--reason', 'x'], "too many arguments for 'release'", 'release [options] <boq_list_id>'],
  [['sweep', 'key'], "too many arguments for 'sweep'", 'sweep [options]'],
  [['audit', '--sample', 'all'], 'from 0 to 999999', 'audit [options]'],
  [['audit', '--sample', '3', '--full'], 'cannot be used with', 'audit [options]'],
])('%j is no command: the error, and how its command is used', async (args, error, usage) => {
  const { code, out, err } = await run(...args);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^error: /);
  expect(err).toContain(error);
  expect(err).toContain(`Usage: npm run price-lists -- ${usage}`);
  expect(err).toContain(usage.startsWith('[') ? 'Commands:' : 'Exit codes:');
});

test.each(['list', 'show', 'resume', 'release', 'sweep', 'audit'])(
  '%s --help is about this command alone, with its exit codes',
  async (name) => {
    const { code, out, err } = await run(name, '--help');
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`Usage: npm run price-lists -- ${name}`);
    for (const exitCode of [0, 1, 2]) expect(out).toMatch(new RegExp(`^  ${exitCode}  `, 'm'));
    expect(out).not.toContain('Commands:');
  },
);

test('without arguments it prints all commands', async () => {
  const all = await run();
  expect(all).toEqual(await run('--help'));
  expect([all.code, all.err]).toEqual([0, '']);
  for (const name of ['list', 'show', 'resume', 'release', 'sweep', 'audit'])
    expect(all.out).toMatch(new RegExp(`^  ${name} `, 'm'));
});

test('an unknown key is an error', async () => {
  expect(await runProcess('show', 'unknown')).toMatchObject({ code: 1, err: containing('No request') });
});
