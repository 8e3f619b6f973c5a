import { PassThrough, Writable } from 'node:stream';
import { runPriceLists } from '../../cli/main';
import { readAllRecords } from '../../../test/harness/price-lists';
import { CRASHED } from '../../../test/harness/failed-attempts';
import { usePriceListService } from '../../../test/harness/price-list-service';
import { parseLines, runCommand } from '../../../test/harness/command';

/** Tests the sweep as a command. functions/test/modules/price-lists/sweep.test.ts tests what a sweep decides about a key. */

const { service, getKey, failAttempt, expectReplayed } = usePriceListService();

test('the sweep prints the result for each unresolved key that is due, and --dry-run only prints what it would do', async () => {
  await failAttempt('crashed', CRASHED);
  await failAttempt('exhausted', { ...CRASHED, failed_tries: 3 });
  await failAttempt('stray');
  await getKey('stray').update({ status: 'released', sweep_due_at: 1 });
  const stored = await readAllRecords(service.db);
  const dry = await runCommand('sweep', '--json', '--dry-run');
  const time = expect.any(Number) as number;
  const reasons = [
    'lease expired before the attempt completed',
    '4 tries failed since the claim or the last resume by an operator',
  ];
  expect([dry.code, new Set(parseLines(dry.out))]).toEqual([
    0,
    new Set([
      { time, boq_list_id: 'crashed', result: 'would_resume', reason: reasons[0] },
      { time, boq_list_id: 'exhausted', result: 'left', reason: reasons[1] },
    ]),
  ]);
  expect(await readAllRecords(service.db)).toEqual(stored);
  const { code, out } = await runCommand('sweep');
  expect(code).toBe(0);
  expect(out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  "crashed" resumed$/m);
  expect(out).toMatch(/  "exhausted" left: 4 tries failed since the claim or the last resume by an operator/);
  await expectReplayed('crashed');
});

test('a sweep that names only unreadable records does not say that there was nothing to do', async () => {
  await failAttempt('newer', CRASHED);
  await getKey('newer').update({ schema_version: 2 });
  const { err } = await runCommand('sweep');
  expect(err).toContain('cannot be read');
  expect(err).not.toContain('Nothing to do');
});

test.each([
  ['stdout', { failed_tries: 4 }],
  ['stderr', { owner: 1 }],
])('a key for an operator stays due if the sweep cannot write the line about the key to %s', async (broken, update) => {
  await failAttempt('a', { failure_cause: 'unavailable' });
  await getKey('a').update(update);
  const { sweep_due_at: before } = (await getKey('a').get()).data() ?? {};
  const full = new Writable({ write: (_, __, end) => end(new Error('no space')) }).on('error', () => undefined);
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), [broken]: full };
  expect(await runPriceLists(['sweep'], streams, () => new AbortController().signal)).toBe(1);
  expect([before, (await getKey('a').get()).get('sweep_due_at')]).toEqual([expect.any(Number), before]);
});

test('the sweep says that there is nothing to do if no key is due', async () => {
  const { code, out, err } = await runCommand('sweep');
  expect([code, out]).toEqual([0, '']);
  expect(err).toContain('Nothing to do: no key is due.\n');
});
