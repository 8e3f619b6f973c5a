import { createHash } from 'node:crypto';
import { keyDocumentId } from '../../../functions/src/lib/schemas/key-record';
import type { KeyRecord } from '../../../functions/src/lib/schemas/key-record';
import { TEST_BATCH } from '../../../test/harness/batches';
import { TEST_PROJECT } from '../../../test/harness/firestore';
import { checkInvariants } from '../../../test/harness/invariants';
import { usePriceListService } from '../../../test/harness/price-list-service';
import { createPriceListBody, parseSubmission } from '../../../test/harness/submissions';
import { parseLines, runCommand as run, runCommandAtTerminal, type CommandOutput } from '../../../test/harness/command';

const KEY = 'BOQ "7"';

const containing = (text: string) => expect.stringContaining(text) as string;

const { service, createBody, getKey, failAttempt } = usePriceListService();
const BODY = createBody(KEY);

const submit = (json: object = BODY) => service.call('addPriceLists', { json });

const readRecord = async () => (await getKey(KEY).get()).data() ?? {};

/** Makes the key `processing` with an expired lease, as after a crash. */
const expireLease = () => getKey(KEY).update({ status: 'processing', lease_expires_at: 1 });

/** Sends the request again, and checks all records. @returns the response, which is a replay */
async function expectReady(): Promise<unknown> {
  const { headers, json } = await submit();
  expect(headers['idempotent-replayed']).toBe('true');
  await checkInvariants(service.db, [parseSubmission(BODY)]);
  return json;
}

test('list, show and resume take a failed attempt to ready lists', async () => {
  await failAttempt(KEY);
  expect(await run('list')).toMatchObject({ code: 0, out: containing('requires_review since') });
  const { out } = await run('list', '--json');
  expect(JSON.parse(out)).toMatchObject([
    { boq_list_id: KEY, status: 'requires_review', market_id: 'market-1', products_count: TEST_BATCH + 1 },
  ]);

  const shown = JSON.parse((await run('show', KEY, '--json')).out) as { payload: object; failure: string };
  expect(shown).toMatchObject({
    payload: { usable: true, name: BODY.info.name },
    failure: expect.any(String) as string,
  });
  const { out: payload } = await run('show', KEY, '--payload', '-');
  expect(JSON.parse(payload)).toMatchObject({ products: BODY.products });
  expect(shown).toMatchObject({ fingerprint: createHash('sha256').update(payload).digest('hex') });

  const unconfirmed = await run('resume', KEY);
  expect(unconfirmed).toMatchObject({ code: 1, err: containing('Pass --yes') });
  expect(unconfirmed.err).not.toContain('Failed:');
  const declined = await runCommandAtTerminal('n', 'resume', KEY);
  expect(declined.code).toBe(1);
  expect(declined.err).toMatch(/Continue\? \[y\/N\] Nothing was changed\.\n$/);
  expect((await submit()).status).toBe(409);
  const resumed = await run('resume', KEY, '--yes', '--reason', 'checked', '--by', 'ada', '--json');
  expect(resumed.code).toBe(0);
  const response = await expectReady();
  expect(JSON.parse(resumed.out)).toEqual({ boq_list_id: KEY, result: 'resumed', reason: null, response });
  expect((await readRecord())['actions']).toEqual([
    { action: 'resume', at: expect.any(Number) as number, by: 'ada', reason: 'checked' },
  ]);

  // A second resume finds the lists ready, so it asks nothing.
  const again = await run('resume', KEY, '--json');
  expect([again.code, JSON.parse(again.out)]).toEqual([
    0,
    { boq_list_id: KEY, result: 'completed', reason: null, response },
  ]);
  expect((await run('list')).out).toBe('No readable key needs an operator.\nNo attempt is in progress.\n');
});

test('list and resume name an expired lease as the cause, whatever failed before, and resume names a key only once if it is passed twice', async () => {
  await failAttempt(KEY, { failure_cause: 'unavailable' });
  await expireLease();
  expect((await run('list', '--json')).out).toContain('"failure_cause": "lease_expired"');
  const { failed_tries: before } = await readRecord();
  const shown = JSON.parse((await run('show', KEY, '--json')).out) as { failed_tries: number };
  expect(shown.failed_tries).toBe(Number(before) + 1);
  for (const args of [
    ['--cause', 'lease_expired'],
    [KEY, keyDocumentId(KEY)],
  ]) {
    const { out } = await run('resume', ...args, '--dry-run');
    expect(out).toBe(
      `${JSON.stringify(KEY)}: would be resumed. Its attempt failed: lease expired before the attempt completed\n`,
    );
  }
});

test('until the lease of a key expires, list without --status does not show the key, and resume and release reject it', async () => {
  await failAttempt(KEY);
  await expireLease();
  expect((await run('list')).out).toMatch(/^1 key waits for the sweep, oldest first\.\n[^]* lease +expired at /);
  await getKey(KEY).update({ lease_expires_at: Date.now() + 60_000 });
  expect((await run('list')).out).toMatch(
    /^No readable key needs an operator.\n1 attempt is in progress\. Its lease lasts until .*\n$/,
  );
  expect((await run('list', '--status', 'completed', '--json')).err).not.toContain('in progress');
  expect(await run('resume', KEY, '--yes')).toMatchObject({ code: 1, err: containing('. Its lease lasts until ') });
  expect(await run('release', KEY, '--reason', 'x', '--yes')).toMatchObject({ code: 1 });
  await expireLease();
  expect((await run('resume', KEY, '--yes')).code).toBe(0);
  await expectReady();
});

test('release leaves the lists failed, a request with another payload claims the key, and show finds the first attempt by its ids', async () => {
  await failAttempt(KEY);
  expect(await run('release', KEY, '--yes')).toMatchObject({ code: 2, err: containing('--reason') });
  expect((await run('release', KEY, '--reason', 'x')).err).toContain(
    '. Afterwards, its lists have the status failed. The next request for this key starts a new attempt',
  );
  expect((await run('release', KEY, '--reason', 'wrong prices', '--by', 'ada', '--yes')).code).toBe(0);
  const { document_id, lists } = (await readRecord()) as Partial<KeyRecord>;
  const other = createPriceListBody(2, { boq_list_id: KEY, name: 'corrected' });
  expect((await submit(other)).status).toBe(200);
  expect(await readRecord()).toMatchObject({ status: 'completed', actions: [] });
  for (const id of [document_id, lists?.price_list_id]) {
    const shown = JSON.parse((await run('show', String(id), '--json')).out) as object;
    expect(shown).toMatchObject({
      status: 'completed',
      earlier: [{ document_id, released: { actions: [{ action: 'release', by: 'ada', reason: 'wrong prices' }] } }],
    });
  }
  expect((await run('show', String(document_id))).out).toMatch(
    /^ +earlier +document .*"by":"ada","reason":"wrong prices"/m,
  );
  const statuses = (await service.db.collection('price_lists').get()).docs.map((list) => String(list.get('status')));
  expect(statuses.sort()).toEqual(['failed', 'ready']);
  expect(await run('resume', KEY, '--yes')).toMatchObject({ code: 0 });
});

test('a failed attempt without its whole payload can only be released', async () => {
  await failAttempt(KEY);
  const [request] = (await service.db.collection('price_list_requests').get()).docs;
  await request?.ref.collection('price_list_payload').doc('0000').delete();
  const { code, err } = await run('resume', KEY, '--yes');
  expect([code, err]).toEqual([
    1,
    containing('The stored payload cannot be used: payload chunks are missing. Release the key, unless'),
  ]);
  expect((await run('show', KEY)).out).toContain('cannot be resumed');
  expect((await run('release', KEY, '--reason', 'damaged', '--yes')).code).toBe(0);
  expect((await submit()).status).toBe(200);
});

test('resume prints a line for each of several keys, and one that fails does not stop the others', async () => {
  await failAttempt(KEY);
  const { text } = await submit(createPriceListBody(3, { boq_list_id: 'other' }));
  const { code, out, err } = await run('resume', 'un/known', KEY, 'other', '--yes');
  expect([code, err]).toEqual([1, containing('\n"un/known": No accepted request matches "un/known". ')]);
  expect(out.trim().split('\n')).toEqual([
    `"other": is already completed. The client gets: ${text}`,
    `"BOQ \\"7\\"": resumed. The client gets: ${(await submit()).text}`,
  ]);
});

// The first read checks the connection, and the last one is that of the resume's own transition.
test.each([1, 2, 3, 4])(
  'of two resumes of a key, only the one that ends before read %i of the other is recorded and says that it resumed the key',
  async (nth) => {
    await failAttempt(KEY);
    const first: Promise<CommandOutput>[] = [];
    const overtake = async () => {
      first.push(run('resume', KEY, '--yes', '--by', 'ada', '--json'));
      await first[0];
    };
    const action = { kind: 'call', run: overtake } as const;
    service.firestore.faults.inject({ rpc: 'BatchGetDocuments', nth, action });
    const second = await run('resume', KEY, '--yes', '--by', 'eve', '--json');
    const outputs = [await first[0], second].map(
      (output) => (JSON.parse(output?.out ?? '') as { result: string }).result,
    );
    expect(outputs).toEqual(['resumed', 'completed']);
    expect((await readRecord())['actions']).toMatchObject([{ by: 'ada' }]);
    await expectReady();
  },
);

test('resume --json prints a line with the key for each of several keys, even for a failure', async () => {
  await failAttempt(KEY);
  const { code, out } = await run('resume', 'unknown', KEY, '--yes', '--json');
  expect(code).toBe(1);
  expect(parseLines(out)).toEqual([
    { boq_list_id: 'unknown', result: 'failed', reason: containing('No accepted request matches'), response: null },
    { boq_list_id: KEY, result: 'resumed', reason: null, response: (await submit()).json },
  ]);
});

test('resume and release say that a key is completed or released, and ask nothing', async () => {
  const { text } = await submit();
  expect(await run('resume', KEY)).toMatchObject({
    code: 0,
    out: containing(`: is already completed. The client gets: ${text}`),
  });
  const nothing = '\nThe lists of the key are ready, so there is nothing to release.\n';
  expect(await run('release', KEY, '--reason', 'x')).toMatchObject({ code: 1, err: containing(nothing) });
  await getKey(KEY).update({ status: 'released', response: null });
  expect(await run('resume', KEY)).toMatchObject({ code: 1, err: containing(': The key was released. ') });
  const before = ' was already released. The client can send the request again.\n';
  expect(await run('release', KEY, '--reason', 'x')).toMatchObject({ code: 0, out: containing(before) });
});

test('release says that a key has no lists if no market matched', async () => {
  await submit(createPriceListBody(1, { boq_list_id: KEY, market_id: 'none' }));
  const { err } = await run('release', KEY, '--reason', 'x');
  expect(err).toContain('no lists, because no market matched. ');
  expect(err).not.toMatch(/failed|entries/);
});

test.each(['__x__', '..', '.'])(
  'show finds a key by the request id %s, which no document can have as its id',
  async (id) => {
    const json = createPriceListBody(1, { boq_list_id: KEY });
    await service.call('addPriceLists', { json, headers: { 'x-request-id': id } });
    expect((await run('show', id)).out).toContain(JSON.stringify(KEY));
  },
);

test('a request id of two keys is rejected, and the error lists the path of each', async () => {
  for (const boq_list_id of ['one', 'the other']) {
    const json = createPriceListBody(1, { boq_list_id });
    await service.call('addPriceLists', { json, headers: { 'x-request-id': 'shared' } });
  }
  const { code, out, err } = await run('release', '--yes', '--reason', 'x', 'shared');
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('The id "shared" matches several keys. Run the command again with one of these:\n');
  const sender: unknown = (await getKey('one').get()).get('key_id');
  for (const key of ['one', 'the other'])
    expect(err).toContain(
      `\n  price_list_idempotency/${keyDocumentId(key)}  # "${key}" of ${String(sender)}, by request_id\n`,
    );
});

describe('an id that is also a boq_list_id', () => {
  test('is refused, and the path of each record selects its key', async () => {
    await failAttempt(KEY);
    const { document_id, key_id, lists } = (await readRecord()) as KeyRecord;
    const request = await service.db.doc(`price_list_requests/${document_id}`).get();
    const { price_list_id, expected_forward_cost_id } = lists ?? {};
    const request_id = request.get('request_id') as string;
    const ids = { hash: keyDocumentId(KEY), document_id, price_list_id, expected_forward_cost_id, request_id };
    await submit(createPriceListBody(1, { boq_list_id: 'other' }));
    const other = (await getKey('other').get()).data();
    for (const [idType, id = ''] of Object.entries(ids)) {
      await getKey(id).set({ ...other, boq_list_id: id });
      const { code, out, err } = await run('resume', id, '--yes');
      expect([code, out]).toEqual([1, '']);
      for (const [key, by] of [
        [id, 'boq_list_id'],
        [KEY, idType],
      ] as const) {
        const { path } = getKey(key);
        expect(err).toContain(`\n  ${path}  # ${JSON.stringify(key)} of ${key_id}, by ${by}\n`);
        expect(JSON.parse((await run('show', path, '--json')).out)).toMatchObject({ boq_list_id: key });
      }
    }
  });

  test('does not hide the record of another key, even if the id equals the path of that record', async () => {
    await submit();
    const { document_id } = (await readRecord()) as KeyRecord;
    for (const path of [getKey(KEY).path, `price_list_requests/${document_id}`]) {
      await submit(createPriceListBody(1, { boq_list_id: path }));
      expect(JSON.parse((await run('show', path, '--json')).out)).toMatchObject({ boq_list_id: KEY });
      expect(JSON.parse((await run('show', getKey(path).path, '--json')).out)).toMatchObject({ boq_list_id: path });
    }
    await submit(createPriceListBody(1, { boq_list_id: 'price_lists/2026' }));
    expect((await run('show', 'price_lists/2026')).code).toBe(0);
  });

  test('is accepted if its matches lead to only one existing key', async () => {
    await service.call('addPriceLists', { json: BODY, headers: { 'x-request-id': 'same' } });
    const json = createPriceListBody(1, { boq_list_id: 'same' });
    await service.call('addPriceLists', { json, headers: { 'x-request-id': 'same' } });
    await getKey(KEY).delete();
    expect((await run('show', 'same')).code).toBe(0);
  });
});

test.each(['it\'s "quoted"', 'new\nline', 'back\\slash', 'a\u3164b', '\u202e', 'a\u00a0b'])(
  'the command finds the key %j by each form that it prints',
  async (key) => {
    await submit(createPriceListBody(1, { boq_list_id: key }));
    const { out } = await run('show', getKey(key).path);
    const [printed = ''] = /"(?:[^"\\]|\\.)*"/.exec(out) ?? [];
    expect(JSON.parse(printed)).toBe(key);
    for (const typed of [key, printed, printed.slice(1, -1)])
      expect(JSON.parse((await run('show', typed, '--json')).out)).toMatchObject({ boq_list_id: key });
  },
);

test('a text that is both a key and the printed form of another key is refused', async () => {
  for (const boq_list_id of ['a\\nb', 'a\nb']) await submit(createPriceListBody(1, { boq_list_id }));
  expect((await run('show', 'a\\nb')).code).toBe(1);
});

test('a printed command repeats the --project of the command that prints it', async () => {
  await failAttempt(KEY);
  const { out } = await run('list', '--project', TEST_PROJECT);
  expect(out).toContain(`show --project ${TEST_PROJECT} price_list_idempotency/${keyDocumentId(KEY)}\n`);
});

test('the next command that list or show prints can be run as it is printed', async () => {
  const getNext = ({ out }: CommandOutput) =>
    /\nNext: npx --no -- price-lists (.*)\n$/.exec(out)?.[1]?.split(' ') ?? [];
  await failAttempt("it's $HOME");
  const showing = await run(...getNext(await run('list')));
  expect(showing.out).toContain('requires_review');
  const resuming = await run(...getNext(showing), '--yes');
  expect(resuming).toMatchObject({ code: 0, out: containing(': resumed. ') });
});

test('list counts keys for an operator and keys for the sweep separately, and its next command shows a key for an operator', async () => {
  await failAttempt('due', { failure_cause: 'timeout' });
  await failAttempt('left');
  const { out } = await run('list');
  expect(out).toMatch(/^1 key needs an operator, 1 key waits for the sweep, oldest first\.\n/);
  expect(out.endsWith(`Next: npx --no -- price-lists show price_list_idempotency/${keyDocumentId('left')}\n`)).toBe(
    true,
  );
});

test('show prints neither an earlier failure nor a next command for a key whose lists are ready', async () => {
  await failAttempt(KEY);
  expect((await run('show', KEY)).out).toMatch(
    /^ +failure +\S.*\n(.*\n)+ +tries +1 failed since the claim or the last resume by an operator$/m,
  );
  await run('resume', KEY, '--yes');
  // As after a resume by the sweep, which keeps the number of failed tries.
  await getKey(KEY).update({ failed_tries: 1 });
  const { out } = await run('show', KEY);
  expect(out).not.toMatch(/^ +(failure|cause|tries) /m);
  expect(out).not.toContain('Next:');
  expect((await run('list', '--status', 'completed')).out).not.toMatch(/^ +failure /m);
});

test('show prints a list document to which no key refers, and calls it a fault', async () => {
  await service.db.doc('price_lists/alone').set({ status: 'ready' });
  const { code, out, err } = await run('show', 'price_lists/alone');
  expect([code, JSON.parse(out)]).toEqual([0, { path: 'price_lists/alone', fields: { status: 'ready' } }]);
  const fault = 'No key was found for the existing price_lists/alone. This is a fault: report it.';
  expect(err).toContain(fault);
  expect(await run('resume', 'alone')).toMatchObject({ code: 1, err: containing(fault) });
  for (const option of ['--payload', '--prices']) expect((await run('show', 'alone', option, '-')).code).toBe(1);
});

test('show prints each id with its type, the trace, and the name of the API key', async () => {
  const trace = 'a'.repeat(32);
  await service.call('addPriceLists', {
    json: BODY,
    headers: { 'x-request-id': 'r-7', traceparent: `00-${trace}-${'b'.repeat(16)}-01` },
  });
  const { document_id, key_id, lists } = (await readRecord()) as Partial<KeyRecord>;
  const { out } = await run('show', KEY);
  expect(key_id).toMatch(/^[0-9a-f]{8}$/);
  const { expected_forward_cost_id: costs, price_list_id: prices } = lists ?? {};
  expect(out).toContain(`document id ${document_id}\n    request id  r-7\n`);
  expect(out).toContain(`api key     ${key_id}\n    cost list   ${costs}\n    price list  ${prices}\n`);
  expect(out).toMatch(/^ {4}trace {7}a{32}$/m);
});

test('show does not suggest a release for a completed key whose payload has expired', async () => {
  await submit();
  const [request] = (await service.db.collection('price_list_requests').get()).docs;
  await request?.ref.collection('price_list_payload').doc('0000').delete();
  const shown = await run('show', KEY);
  expect(shown.out).toMatch(/^ +payload +unusable \([^)]*\)$/m);
  const { code, err } = await run('show', KEY, '--payload', '-');
  expect([code, err]).toEqual([1, containing('The stored payload cannot be used: ')]);
  expect(err).not.toContain('elease');
});

test('show prints an unreadable key record, found by its key or its path, and neither resume nor release changes the record', async () => {
  await failAttempt(KEY);
  await failAttempt('other');
  const { lists } = (await readRecord()) as Partial<KeyRecord>;
  await getKey(KEY).update({ lists: { ...lists, price_list_id: '__x__' } });
  const stored = await readRecord();
  const warning = containing(`${getKey(KEY).path} cannot be read as a key record. If another version`);
  expect(await run('list')).toMatchObject({ code: 0, out: containing('"other"'), err: warning });
  expect(await run('resume', '--cause', 'timeout', '--dry-run')).toMatchObject({ code: 0, err: warning });
  for (const args of [[KEY], [getKey(KEY).path]]) {
    const { code, out, err } = await run('show', ...args);
    expect([code, JSON.parse(out), err]).toEqual([0, { path: getKey(KEY).path, fields: stored }, warning]);
  }
  for (const args of [
    ['resume', '--yes'],
    ['release', '--reason', 'x', '--yes'],
    ['show', '--payload', '-'],
  ])
    expect(await run(...args, KEY)).toMatchObject({ code: 1, err: warning });
  expect(await readRecord()).toEqual(stored);
});

describe('the next step', () => {
  const failed = { status: 'requires_review', response: null, failure: 'x', sweep_due_at: 1 };
  const running = { status: 'processing', response: null, sweep_due_at: 1 };

  const RESUME = 'npx --no -- price-lists resume';
  const RELEASE = "npx --no -- price-lists release --reason '…'";

  test.each<[state: string, update: Record<string, unknown>, next: string | null, text: string | undefined]>([
    ['whose lease has expired', { ...running, lease_expires_at: 1 }, 'sweep', 'wait for the sweep'],
    ['that failed for a permanent cause', { ...failed, failure_cause: 'error' }, 'resume', RESUME],
    ['that is completed', { failure: null }, null, undefined],
    ['that is completed without lists', { lists: null }, 'release', RELEASE],
  ])('of a key %s is the same in list, show and report', async (_, update, next, text) => {
    await submit();
    await getKey(KEY).update(update);
    const { status } = (await readRecord()) as Partial<KeyRecord>;
    const listed = await run('list', '--json', '--status', String(status));
    const shown = await run('show', KEY, '--json');
    const reported = await run('report', '--json');
    const sweep_due_at = next === 'sweep' || status === 'processing' ? 1 : null;
    expect([JSON.parse(listed.out), JSON.parse(shown.out), parseLines(reported.out)]).toMatchObject([
      [{ next, sweep_due_at }],
      { next, sweep_due_at },
      [{ next }],
    ]);
    const id = next === 'resume' || next === 'release' ? ` price_list_idempotency/${keyDocumentId(KEY)}` : '';
    const end = (await run('show', KEY)).out.split('\nNext: ')[1];
    expect(end).toBe(text && `${text}${id}\n`);
  });

  test('of a key whose record cannot be read is null in report, which says that the record is unreadable', async () => {
    await submit();
    await getKey(KEY).update({ owner: 1 });
    expect(parseLines((await run('report', '--json')).out)).toMatchObject([{ status: 'unreadable', next: null }]);
  });
});

test('show, list, audit, resume and release escape the control characters in stored text', async () => {
  const controls = '\u001b[2J\u001b]52;c;Zm9v\u0007\u007f\u009b31m';
  const key = `boq ${controls}`;
  const json = createPriceListBody(1, { boq_list_id: key, name: `name ${controls}` });
  expect((await submit(json)).status).toBe(200);
  const action = { action: 'resume', at: 0, by: `by ${controls}`, reason: `reason ${controls}` };
  await getKey(key).update({ failure: `failure ${controls}`, actions: [action] });
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
  for (const text of ['boq', 'name', 'by', 'reason']) {
    expect(outputs[0]?.out).toContain(`${text} \\u001b[2J\\u001b]52;c;Zm9v\\u0007\\u007f\\u009b31m`);
  }
  expect((JSON.parse(outputs[1]?.out ?? '') as { boq_list_id: string }).boq_list_id).toBe(key);
});

test.each<[args: string[], error: string]>([
  [['report', '--from', 'soon'], 'such as 2026-12-01'],
  [['show', 'a', '--json', '--payload', 'x'], 'cannot be used with'],
  [['audit', '--sample', 'all'], 'from 0 to 999999'],
  [['audit', '--sample', '3', '--full'], 'cannot be used with'],
])('the arguments %j print an error that names --help', async (args, error) => {
  const { code, out, err } = await run(...args);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^error: /);
  expect(err).toContain(error);
  expect(err).toMatch(/\n\(Add --help to see the usage\.\)\n$/);
});

test.each(['--reason <text>', '--by <name>', '--project <id>', '--database <id>'])(
  '%s cannot be blank',
  async (option) => {
    const [name = ''] = option.split(' ');
    const { code, err } = await run('release', 'a', '--reason', 'x', name, ' ');
    expect([code, err]).toEqual([2, containing(`'${option}' argument ' ' is invalid. The text is blank.`)]);
  },
);

test('without arguments, price-lists prints all its commands', async () => {
  const all = await run();
  expect(all).toEqual(await run('--help'));
  expect([all.code, all.err]).toEqual([0, '']);
  for (const name of ['list', 'show', 'report', 'resume', 'release', 'sweep', 'audit'])
    expect(all.out).toMatch(new RegExp(`^  ${name} `, 'm'));
});
