import { setTimeout as delay } from 'node:timers/promises';
import * as functions from '../../src';
import { openRequest } from '../../../dev/run/http';
import { operations, postOperationNames, type PostOperationName } from '../../../dev/run/operations';
import { TEST_API_KEY, useTestService } from '../../../test/harness/service';
import { createPriceListBody } from '../../../test/harness/submissions';
import { waitFor } from '../../../test/harness/wait-for';

/** Tests over HTTP how bodies are limited and rejected. ../modules/lib/http/request-body.test.ts tests their reading without HTTP. */

const MIB = 1_048_576;
const MAX_BODY_BYTES = { getOrdersByTeam: MIB, supplyOrdersInvoices: MIB, addPriceLists: 32 * MIB } as const;
const JSON_TYPE = { 'content-type': 'application/json' };

const service = useTestService(functions);

const valid = (name: PostOperationName) => JSON.stringify(operations[name].body);

test.each(postOperationNames)(
  '%s accepts a body of the maximum size, and a larger body gets 413, which names the maximum',
  async (name) => {
    const bytes = MAX_BODY_BYTES[name];
    expect((await service.call(name, { body: valid(name).padEnd(bytes) })).status).toBe(operations[name].emptyStatus);
    const { status, json, headers } = await service.call(name, { body: valid(name).padEnd(bytes + 1) });
    expect([status, json]).toEqual([413, { error: 'Payload too large' }]);
    expect([headers['x-payload-limit-bytes'], headers['x-payload-limit-scope']]).toEqual([String(bytes), 'body']);
  },
);

// The Functions Framework would parse or inflate these bodies itself if it saw their content types.
test.each([
  ['malformed JSON', '{', JSON_TYPE],
  ['a cloud event', valid('getOrdersByTeam'), { 'content-type': 'application/cloudevents+json' }],
  ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['invalid gzip', valid('getOrdersByTeam'), { ...JSON_TYPE, 'content-encoding': 'gzip' }],
])('%s is a validation error, without a call to the database', async (_, body, headers) => {
  const calls = service.recordCalls();
  const { status, json } = await service.call('getOrdersByTeam', { body, headers });
  expect([status, json]).toMatchObject([400, { success: false, errors: [{ path: 'body' }] }]);
  expect(calls).toEqual([]);
});

test('a request whose client disconnects before the end of its body is logged as 499', async () => {
  const headers = { ...JSON_TYPE, 'x-api-key': TEST_API_KEY, 'content-length': '1000' };
  const { request, response } = openRequest(service.port('addPriceLists'), { method: 'POST', headers });
  await new Promise((resolve) => request.write('{"team_id":', resolve));
  await delay(50);
  request.destroy();
  await expect(response).rejects.toThrow();
  await waitFor(() => service.log.length > 0);
  expect(service.log).toMatchObject([{ severity: 'NOTICE', status: 499, client_gone: true }]);
  expect(service.log[0]).not.toHaveProperty('error_code');
});

test('addPriceLists returns 413 for a body with more products than a valid body can hold', async () => {
  const products = (count: number) => `{"products":{${'"a":0,'.repeat(count - 1)}"a":0}}`;
  expect((await service.call('addPriceLists', { body: products(568_719) })).status).toBe(400);
  const { status, json, headers } = await service.call('addPriceLists', { body: products(568_720) });
  expect([status, json]).toEqual([413, { error: 'Payload too large' }]);
  expect([headers['x-payload-limit-bytes'], headers['x-payload-limit-scope']]).toEqual([undefined, 'products']);
});

test('addPriceLists returns 413 for a payload whose prices make its canonical JSON larger than 32 MiB', async () => {
  const prices = '{"price_list_price":1e20,"expected_forward_cost_price":1e20}';
  const { info } = createPriceListBody(0);
  const products = Array.from({ length: 350_000 }, (_, i) => `"${i}":${prices}`);
  const body = `{"info":${JSON.stringify(info)},"products":{${products.join()}}}`;
  const { status, headers } = await service.call('addPriceLists', { body });
  expect([status, headers['x-payload-limit-scope']]).toEqual([413, 'canonical']);
  expect((await service.db.collection('price_list_idempotency').get()).size).toBe(0);
});
