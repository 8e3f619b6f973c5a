import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { getAuditReads } from '../support/billed-documents';
import { submitAndFail, writeMarket, type AddPriceListsBody } from '../support/price-lists';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { runCommand } from './command';

/** The audit as a command. functions/test/modules/price-lists tests what it finds (audit, invariants). */

const service = useTestService({ addPriceLists });
beforeAll(useTestBatches);
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

const PRODUCTS = TEST_BATCH + 1;

const createBody = (key: string) => createPriceListBody(PRODUCTS, { boq_list_id: key });

async function submit(key: string, json: object = createBody(key)): Promise<AddPriceListsBody> {
  const response = await service.call('addPriceLists', { json });
  expect(response.status).toBe(200);
  return response.json as AddPriceListsBody;
}

interface AuditLine {
  event: string;
  document_reads?: number;
}

async function audit(...args: string[]): Promise<{ code: number | null; lines: AuditLine[] }> {
  const { code, out } = await runCommand('audit', '--json', ...args);
  const lines = out.trim().split('\n');
  return { code, lines: lines.map((line) => JSON.parse(line) as AuditLine) };
}

test('finds no violation in a database with keys in every status', async () => {
  await submit('completed');
  await submitAndFail(service, createBody('failed'));
  await submitAndFail(service, createBody('released'));
  const { code } = await runCommand('release', 'released', '--reason', 'test', '--yes');
  expect(code).toBe(0);
  await submit('released');
  await submit('no market', createPriceListBody(1, { boq_list_id: 'no market', market_id: 'none' }));
  const completed = { event: 'audit_completed', severity: 'INFO', keys: 4, attempts: 5, violations: 0 };
  expect(await audit('--full')).toEqual({ code: 0, lines: [expect.objectContaining(completed)] });
  const { out } = await runCommand('audit');
  expect(out).toMatch(
    /^Checked 4 keys with 5 attempts\. All entries were counted, and 10 of each list compared .*\. \d+ document reads\. 0 /,
  );
});

test('prints each violation with a command that shows more, and exits with 1', async () => {
  const { price_list } = await submit('boq 7');
  const path = `price_lists/${price_list?.id}/products`;
  await service.db.doc(`${path}/product-0`).update({ price_list_price: 17 });
  const unreadable = keyDocumentId('unreadable');
  await service.db.doc(`price_list_idempotency/${unreadable}`).set({ schema_version: 2 });

  const violation = { event: 'audit_violation', severity: 'ERROR' };
  const message = 'has 1 entries that differ from the payload';
  const { code, lines } = await audit('--full');
  expect(code).toBe(1);
  expect(lines).toHaveLength(3);
  expect(lines).toContainEqual({
    ...violation,
    rule: 'entry_values',
    boq_list_id: 'boq 7',
    path,
    message: `${path} ${message}`,
    command: "npx price-lists show --id-type boq_list_id 'boq 7'",
  });
  const command = `npx price-lists show --id-type hash ${unreadable}`;
  expect(lines).toContainEqual(expect.objectContaining({ ...violation, rule: 'key_readable', command }));
  expect(lines[2]).toMatchObject({ event: 'audit_completed', severity: 'ERROR', violations: 2 });

  const text = await runCommand('audit', '--full');
  expect(text.code).toBe(1);
  expect(text.out).toContain(`"boq 7": ${path} ${message}, such as "product-0". More: npx price-lists`);
  expect(text.out).toMatch(
    /All entries were compared with the payload\. \d+ document reads\. 2 violations\.\nFor information: /,
  );
});

test('reads 13 documents for each key with counts, and more for a sample, and writes nothing', async () => {
  for (const key of ['a', 'b', 'c']) await submit(key);
  const calls = service.recordCalls();
  const getReads = async (...args: string[]) => (await audit(...args)).lines[0]?.document_reads;
  expect(await getReads('--sample', '0')).toBe(getAuditReads(3, 0));
  expect(await getReads('--sample', '2')).toBe(getAuditReads(3, 2));
  expect(await getReads('--full')).toBe(getAuditReads(3, PRODUCTS));
  expect(calls.map(({ rpc }) => rpc)).not.toContain('Commit');
});
