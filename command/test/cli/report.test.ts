import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatCsv } from '../../cli/csv';
import type { PriceListsResponse } from '../../../functions/src/lib/schemas/responses';
import { usePriceListService } from '../../../test/harness/price-list-service';
import { writeRecords } from '../../../test/harness/stored';
import { createPriceListBody } from '../../../test/harness/submissions';
import { parseLines, runCommand as run, runCommandAtTerminal } from '../../../test/harness/command';

const { service, getKey, failAttempt } = usePriceListService();
const folder = mkdtempSync(join(tmpdir(), 'prices-'));
afterAll(() => rmSync(folder, { recursive: true }));

const submit = async (boq_list_id: string, info: object = {}, products = 2) =>
  (await service.call('addPriceLists', { json: createPriceListBody(products, { boq_list_id, ...info }) }))
    .json as PriceListsResponse;

const getKeys = async (...args: string[]) =>
  parseLines((await run('report', '--json', ...args)).out).map((row) => (row as { boq_list_id: string }).boq_list_id);

test('report has one row for each request, newest first, even for a released attempt', async () => {
  const created = await submit('first');
  await submit('no market', { market_id: 'nowhere', currency_iso: 'usd' });
  await failAttempt('failed');
  await run('release', 'failed', '--reason', 'x', '--yes');
  await submit('failed', { name: 'again' });
  const { code, out, err } = await run('report', '--json');
  expect([code, err]).toEqual([0, expect.stringContaining('4 requests shown, 4 read. 7 document reads.\n')]);
  expect(parseLines(out)).toMatchObject([
    { boq_list_id: 'failed', name: 'again', status: 'completed' },
    {
      boq_list_id: 'failed',
      name: 'June',
      status: 'released',
      failure_cause: null,
      currency_stored: 'EGP',
      next: null,
    },
    { boq_list_id: 'no market', currency_sent: 'USD', currency_stored: null, price_list_id: null, status: 'completed' },
    {
      boq_list_id: 'first',
      market_id: 'market-1',
      month: expect.stringMatching(/^\d\d\/\d{4}$/) as string,
      sender: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
      products: 2,
      status: 'completed',
      price_list_id: created.price_list?.id,
      expected_forward_cost_id: created.expected_forward_cost?.id,
      document_id: created.document_id,
    },
  ]);
});

test('report includes the first millisecond of --from, and excludes that of --to', async () => {
  const { document_id } = await submit('a');
  const request = service.db.doc(`price_list_requests/${document_id}`);
  const select = (from: string, to: string) => getKeys('--from', from, '--to', to);
  await request.update({ created_at: Date.UTC(2026, 5, 2) });
  expect(await select('2026-06-02', '2026-06-03')).toEqual(['a']);
  expect(await select('2026-06-01', '2026-06-02')).toEqual([]);
  await request.update({ created_at: Date.UTC(2026, 5, 2) - 1 });
  expect(await select('2026-06-02', '2026-06-03')).toEqual([]);
  expect(await select('2026-06-01', '2026-06-02')).toEqual(['a']);
});

test('report reads more requests than one call returns, and reads each key of a page once', async () => {
  const { document_id } = await submit('a');
  const request = (await service.db.doc(`price_list_requests/${document_id}`).get()).data();
  const copies = Array.from({ length: 200 }, (_, i) => [`copy ${i}`, { ...request, released: {} }] as const);
  await writeRecords(service.db, 'price_list_requests', Object.fromEntries(copies));
  const { out, err } = await run('report', '--json');
  const statuses = parseLines(out).map((row) => (row as { status: string }).status);
  expect([statuses.length, new Set(statuses)]).toEqual([201, new Set(['released', 'completed'])]);
  expect(err).toContain('201 requests shown, 201 read. 204 document reads.\n');
});

test('report selects by market and by status', async () => {
  await submit('a');
  await submit('b', { market_id: 'nowhere' });
  await failAttempt('c');
  expect(await getKeys('--market', 'nowhere')).toEqual(['b']);
  expect(await getKeys('--status', 'requires_review', 'processing')).toEqual(['c']);
  expect(await run('report', '--from', '2026-02-30')).toMatchObject({ code: 2 });
});

test.each([
  [['--market', 'other'], '0 requests shown, 1 read. 2 document reads. No accepted request matches the options.'],
  [['--sender', 'nobody'], '0 requests shown, 1 read. 2 document reads. No accepted request matches the options.'],
  [['--to', '2026-01-01'], '0 requests shown, 0 read. 1 document read. No accepted request matches the options.'],
])('report %j says in its last line that nothing matches', async (options, line) => {
  await submit('a');
  const { code, out, err } = await run('report', '--json', ...options);
  expect([code, out, err.trimEnd().split('\n').at(-1)]).toEqual([0, '', line]);
});

test('report is a table, or CSV that no spreadsheet takes for formulas', async () => {
  await submit('=cmd', { name: 'line\nbreak, "quoted"', currency_iso: 'usd' });
  const table = await run('report');
  const titles = 'accepted (UTC) boq_list_id status outcome next month market currency products sender cause name';
  expect(table.out.split('\n')[0]?.replaceAll(/ +/g, ' ')).toBe(titles);
  expect(table.out).toMatch(/\n\d{4}-\d\d-\d\d \d\d:\d\d +=cmd +completed .* USD→EGP /);
  expect(table.out).toContain('line\\u000abreak');
  const { out } = await run('report', '--csv');
  const [header, row, ...others] = out.split('\r\n');
  expect([header?.slice(0, 13), others]).toEqual(['"accepted_at"', ['']]);
  expect(row).toMatch(/^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ","'=cmd","line\nbreak, ""quoted""",/);
});

test('report prints whole lines to a terminal without a size, and aligns columns of wide characters', async () => {
  await submit('価'.repeat(20), { name: 'the last column' });
  const { out } = await runCommandAtTerminal('', 'report');
  expect(out).toMatch(/:\d\d {2}価{11}… {3}completed .*the last column\n/);
});

test('report --csv at a terminal escapes carriage returns and byte order marks within a text, but not line feeds', async () => {
  await submit('a', { name: 'one\r\ntwo\ufeff' });
  const { out } = await runCommandAtTerminal('', 'report', '--csv');
  expect(out).toMatch(/^"accepted_at".*,"one\\u000d\ntwo\\ufeff",.*\n$/s);
  expect(out).not.toMatch(/[\r\ufeff]/);
});

test('each text of a CSV file is quoted, and one that begins like a formula gets an apostrophe', () => {
  const texts = ['=1', '+1', '-1', '@a', '\ta', '\ra', 'a\nb', 'a,b', '"', "'a", ''];
  const cells = formatCsv(texts).slice(0, -2);
  expect(cells).toBe(`"'=1","'+1","'-1","'@a","'\ta","'\ra","a\nb","a,b","""","'a",""`);
  expect(formatCsv([0.1, 1e-7, 0, null])).toBe('0.1,1e-7,0,\r\n');
});

test('texts of 1,500,000 characters become CSV within seconds, even those on which a regular expression could backtrack', () => {
  const startedAt = performance.now();
  for (const text of [`${' '.repeat(1_500_000)}€`, `${';'.repeat(1_500_000)}€`, '\u3164'.repeat(1_500_000)])
    formatCsv([text]);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test.each([
  ['behind a semicolon', ';=1+1;', ";'=1+1;"],
  ['behind a tab', 'a\t+1', "a\t'+1"],
  ['behind a line feed', '\n-1\r\n@a', "\n'-1\r\n'@a"],
  ['behind a line separator', 'a\u2028=1', "a\u2028'=1"],
  ['behind a semicolon and a quotation mark', 'a;"=1&"', 'a;""\'=1&""'],
  ['behind spaces and invisible characters', ' \u00a0\u200b\ufeff\u3164=1', " \u00a0\u200b\ufeff\u3164'=1"],
  ['of full width', ';＝1', ";'＝1"],
  ['in the middle of a text', 'a=1 - b@c;d', 'a=1 - b@c;d'],
])('a formula character %s gets an apostrophe only where it can begin a cell', (_, text, cell) => {
  expect(formatCsv([text])).toBe(`"${cell}"\r\n`);
});

test('show --prices writes both prices of each product to one file, with an empty cell for a missing entry', async () => {
  const { price_list } = await submit('a', {}, 3);
  await service.db.doc(`price_lists/${price_list?.id}/products/product-1`).delete();
  const file = join(folder, 'prices.csv');
  const written = await run('show', 'a', '--prices', file);
  expect(written).toMatchObject({ code: 0, out: '' });
  expect(written.err).toContain(`Wrote the prices of 3 products to "${file}". 5 document reads.\n`);
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\r\n');
  expect(lines[0]).toBe('\ufeff"product_id","price_list_price","expected_forward_cost_price"');
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(/^"product-0",[\d.]+,[\d.]+$/),
    expect.stringMatching(/^"product-1",,[\d.]+$/),
    expect.stringMatching(/^"product-2",[\d.]+,[\d.]+$/),
    '',
  ]);
  expect((await run('show', 'a', '--prices', '-')).out).toBe(text.slice(1));
  expect(await run('show', 'a', '--prices', file)).toMatchObject({ code: 1 });
});

test('show --prices joins both lists in the order of Firestore, which is not that of JavaScript', async () => {
  const product = { price_list_price: 1, expected_forward_cost_price: 2 };
  const { info } = createPriceListBody(0, { boq_list_id: 'a' });
  const { json } = await service.call('addPriceLists', { json: { info, products: { '～': product, '😀': product } } });
  await service.db.doc(`price_lists/${(json as PriceListsResponse).price_list?.id}/products/～`).delete();
  const { out } = await run('show', 'a', '--prices', '-');
  expect(out.split('\r\n').slice(1)).toEqual(['"～",,2', '"😀",1,2', '']);
});

test('show --prices leaves no file if it cannot read all entries', async () => {
  await submit('a');
  service.firestore.faults.inject({
    rpc: 'RunQuery',
    match: ({ request }) => request.query.parent.includes('/price_lists/'),
    when: { messages: 1 },
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  const file = join(mkdtempSync(join(folder, 'failed-')), 'prices.csv');
  expect(await run('show', 'a', '--prices', file)).toMatchObject({ code: 1, out: '' });
  expect(readdirSync(dirname(file))).toEqual([]);
});

test('show --prices says that a key without lists has none', async () => {
  await submit('none', { market_id: 'nowhere' });
  const { code, err } = await run('show', 'none', '--prices', '-');
  expect([code, err]).toEqual([1, expect.stringContaining('The key has no lists, because no market matched.\n')]);
});

describe('with keys that failed for different causes', () => {
  beforeEach(async () => {
    await failAttempt('key 0', { failure_cause: 'error' });
    for (const key of ['key 1', 'key 2']) await failAttempt(key, { failure_cause: 'unavailable', failed_tries: 4 });
  });

  test('list prints the causes before the keys, shows the oldest keys, and says how to see more', async () => {
    await getKey('key 1').update({ updated_at: 1 });
    const { out } = await run('list', '--limit', '2');
    expect(out).toMatch(/^3 keys need an operator, oldest first\.\n\n {4}\w+ +\d keys?, /);
    expect(out).toMatch(/^ {4}error +1 key, \d+ \w+ old$/m);
    expect(out).toMatch(/^ {4}unavailable +2 keys, \d+ \w+ to \d+ days old$/m);
    expect(out.match(/^ {2}"key \d"$/gm)).toEqual(['  "key 1"', '  "key 0"']);
    expect(out).toContain(
      'The oldest 2 of 3 keys are shown. Add --limit 3 to see all.\nThe most frequent cause among the keys that need an operator is unavailable. List the keys with this cause: npx --no -- ',
    );
    expect(JSON.parse((await run('list', '--json', '--limit', '2')).out)).toHaveLength(3);
    const failed = await run('list', '--limit', '2', '--status', 'requires_review', 'processing');
    expect(failed.out).not.toContain('--cause');
  });

  test('resume --cause resumes the keys of one cause with --yes, and none after the answer n or in a dry run', async () => {
    const dry = await run('resume', '--cause', 'unavailable', '--dry-run');
    expect(dry).toMatchObject({ code: 0, err: expect.stringContaining('2 keys would be resumed.\n') as string });
    expect(dry.out.match(/^"key \d": would be resumed\. Its attempt failed: /gm)).toHaveLength(2);
    expect(await runCommandAtTerminal('n', 'resume', '--cause', 'unavailable')).toMatchObject({ code: 1, out: '' });
    const { code, out } = await run('resume', '--cause', 'unavailable', '--yes');
    expect([code, out.match(/^"key \d": resumed\./gm)?.length]).toEqual([0, 2]);
    expect((await run('list')).out).toMatch(/^1 key needs an operator/);
    const none = await run('resume', '--cause', 'unavailable');
    expect(none).toMatchObject({
      code: 0,
      err: expect.stringContaining('No key requires review for the cause unavailable.') as string,
    });
    expect(await run('resume', 'a', '--cause', 'error')).toMatchObject({ code: 2 });
    expect(await run('resume')).toMatchObject({ code: 2 });
  });
});

test('report selects requests by outcome, show explains an outcome other than created, and the audit counts such outcomes', async () => {
  await submit('usable', { currency_iso: 'egp' });
  await submit('no market', { market_id: 'nowhere' });
  await submit('dollars', { currency_iso: 'usd' });
  expect(await getKeys('--outcome', 'no_market')).toEqual(['no market']);
  expect(await getKeys('--outcome', 'other_currency')).toEqual(['dollars']);
  expect(await getKeys('--outcome', 'no_market', 'other_currency')).toEqual(['dollars', 'no market']);
  await failAttempt('failed', { failure_cause: 'error' });
  expect(await getKeys('--outcome', 'created')).toEqual(['usable']);
  expect((await run('show', 'no market')).out).toContain('no lists, because no market matched');
  expect((await run('show', 'dollars')).out).toMatch(
    /^ +currency +The request named a different currency\. .*, without conversion\.$/m,
  );
  expect((await run('show', 'usable')).out).not.toMatch(/^ +currency /m);
  const { code, out } = await run('audit');
  expect([code, out]).toEqual([
    0,
    expect.stringContaining(
      "1 completed key without lists, and 1 with lists in a different currency from the request's.",
    ),
  ]);
});
