import { keyDocumentId } from '../../../functions/src/lib/schemas/key-record';
import type { PriceListsResponse } from '../../../functions/src/lib/schemas/responses';
import { usePriceListService } from '../../../test/harness/price-list-service';
import { parseLines, runCommand } from '../../../test/harness/command';

/** Tests the audit as a command. command/test/audit/audit.test.ts tests which violations it finds. */

const { service, createBody } = usePriceListService();

async function submit(key: string, json: object = createBody(key)): Promise<PriceListsResponse> {
  const response = await service.call('addPriceLists', { json });
  expect(response.status).toBe(200);
  return response.json as PriceListsResponse;
}

interface AuditLine {
  event: string;
  document_reads?: number;
}

async function audit(...args: string[]): Promise<{ code: number | null; lines: AuditLine[] }> {
  const { code, out } = await runCommand('audit', '--json', ...args);
  return { code, lines: parseLines(out) as AuditLine[] };
}

test('the audit prints a violation with a command that shows more, and exits with 1', async () => {
  const { price_list } = await submit('boq 7');
  const path = `price_lists/${price_list?.id}/products`;
  await service.db.doc(`${path}/product-0`).update({ price_list_price: 17 });
  const unreadable = keyDocumentId('unreadable');
  await service.db.doc(`price_list_idempotency/${unreadable}`).set({ schema_version: 2 });

  const violation = { event: 'audit_violation', severity: 'ERROR' };
  const message = 'has entries that differ from the payload: 1';
  const { code, lines } = await audit('--full');
  expect(code).toBe(1);
  expect(lines).toHaveLength(3);
  expect(lines).toContainEqual({
    ...violation,
    rule: 'entry_values',
    boq_list_id: 'boq 7',
    path,
    message: `${path} ${message}`,
    command: `npx --no -- price-lists show price_list_idempotency/${keyDocumentId('boq 7')}`,
  });
  const command = `npx --no -- price-lists show price_list_idempotency/${unreadable}`;
  expect(lines).toContainEqual(expect.objectContaining({ ...violation, rule: 'key_readable', command }));
  expect(lines[2]).toMatchObject({ event: 'audit_completed', severity: 'ERROR', violations: 2 });

  const text = await runCommand('audit', '--full');
  expect(text.code).toBe(1);
  expect(text.out).toContain(`"boq 7": ${path} ${message}, such as "product-0". More: npx --no -- price-lists`);
  expect(text.out).toMatch(
    /All entries of the current attempts of readable keys were compared with the payload\. \d+ document reads\. 2 violations\.\nFor information: /,
  );
});

test('the audit says how many attempts it could not compare with their payload', async () => {
  const { document_id } = await submit('expired');
  await submit('other');
  const request = service.db.doc(`price_list_requests/${document_id}`);
  await request.update({ payload_expires_at: 1 });
  await request.collection('price_list_payload').doc('0000').delete();
  expect(await audit('--full')).toMatchObject({ code: 0, lines: [{ violations: 0, not_compared: 1 }] });
  const said = 'The entries of 1 attempt without a usable payload were only counted.';
  expect((await runCommand('audit', '--full')).out).toContain(`Entries were compared with the payload. ${said} `);
  expect((await runCommand('audit', '--sample', '0')).out).toContain(
    'All entries of the current attempts of readable keys were counted. ',
  );
});
