import type * as fields from '../../../src/lib/schemas/fields';
import type * as info from '../../../src/lib/schemas/info';
import type { KeyRecord } from '../../../src/lib/schemas/key-record';
import type { PriceListsResponse } from '../../../src/lib/schemas/responses';
import { checkInvariants } from '../../../../test/harness/invariants';
import { getRejection, getResponse, useCreations } from '../../../../test/harness/creations';
import { createPriceListBody, parseSubmission, type PriceListBody } from '../../../../test/harness/submissions';

/** Adds two optional fields to `info`, one of which the lists show. Each of the two is sent through a creation. */

jest.mock('../../../src/lib/schemas/info', () => {
  const actual = jest.requireActual<typeof info>('../../../src/lib/schemas/info');
  const { textField } = jest.requireActual<typeof fields>('../../../src/lib/schemas/fields');
  const infoSchema = actual.infoSchema.extend({ note: textField.optional(), shown: textField.optional() });
  const { shape } = actual.listInfoSchema;
  return { infoSchema, listInfoSchema: actual.listInfoSchema.extend({ ...shape, shown: infoSchema.shape.shown }) };
});

const { database, create, readKey, check } = useCreations();

const body = createPriceListBody(1);
const withFields = (fields: object): PriceListBody => ({ ...body, info: { ...body.info, ...fields } });

const read = async (path: string) => (await database.client.doc(path).get()).data();

test('an optional field of info is stored with the request, and a request without the field has a different payload', async () => {
  const noted = withFields({ note: 'first' });
  expect(parseSubmission(noted).info).toHaveProperty('note', 'first');
  getResponse(await create(noted));
  expect(getRejection(await create(body))).toEqual(['idempotency_key_reused', undefined]);
  const { document_id } = (await readKey()) as unknown as KeyRecord;
  expect(await read(`price_list_requests/${document_id}`)).toHaveProperty('info.note', 'first');
  await check(noted);
});

test('a field of info that lists show is in the key record, both lists and the response, and the audit does not expect it', async () => {
  const shown = withFields({ shown: 'twice' });
  const response = JSON.parse(getResponse(await create(shown))) as PriceListsResponse;
  expect([response.expected_forward_cost, response.price_list]).toMatchObject([{ shown: 'twice' }, { shown: 'twice' }]);
  const key = (await readKey()) as unknown as KeyRecord;
  expect(key).toHaveProperty('shown', 'twice');
  for (const path of [
    `expected_forward_costs/${key.lists?.expected_forward_cost_id}`,
    `price_lists/${key.lists?.price_list_id}`,
  ])
    expect(await read(path)).toHaveProperty('shown', 'twice');
  // The audit has its own list of fields, so a field that is not added there is a violation.
  const audited = checkInvariants(database.client, [parseSubmission(shown)]);
  await expect(audited).rejects.toThrow(/differs from its attempt: unexpected fields: 1/);
});

test('a creation without the added fields passes the audit', async () => {
  getResponse(await create(body));
  await check(body);
});
