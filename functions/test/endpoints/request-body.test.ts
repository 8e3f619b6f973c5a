import { setTimeout as delay } from 'node:timers/promises';
import * as functions from '../../src';
import type { ReceivedResponse } from '../../../scripts/harness/received-response';
import { operations, postOperationNames, type PostOperationName } from '../../../scripts/harness/operations';
import { useTestService } from '../support/service';
import { waitFor } from '../support/wait-for';

/** Tests limits and forms of bodies from outside. ../modules/lib/http tests the reader of bodies alone. */

const KIB = 1_024;
const MIB = 1_024 * KIB;
const MAX_BODY_BYTES = { getOrdersByTeam: MIB, supplyOrdersInvoices: MIB, addPriceLists: 32 * MIB } as const;
const JSON_TYPE = { 'content-type': 'application/json' };

const service = useTestService(functions);
beforeEach(() => service.reset());

const valid = (name: PostOperationName) => JSON.stringify(operations[name].body);

function assertTooLarge({ status, json, headers }: ReceivedResponse, bytes: number): void {
  expect([status, json]).toEqual([413, { error: 'Payload too large' }]);
  expect([headers['x-payload-limit-bytes'], headers['x-payload-limit-scope']]).toEqual([String(bytes), 'body']);
}

const MEMBER_BYTES = 30_000;

/** Returns a valid body of the given size. Whitespace fills a read's body, and products fill that of add price lists. */
function padBody(name: PostOperationName, bytes: number): Buffer {
  const text = valid(name);
  if (name !== 'addPriceLists') return Buffer.from(text.padEnd(bytes));
  const start = text.indexOf('"products":{') + '"products":{'.length;
  const members: string[] = [];
  for (let left = bytes - text.length; left > 0;) {
    const size = left < 2 * MEMBER_BYTES ? left : MEMBER_BYTES;
    members.push(`${`"${left}":{"price_list_price":1,"expected_forward_cost_price":1}`.padEnd(size - 1)},`);
    left -= size;
  }
  return Buffer.from(text.slice(0, start) + members.join('') + text.slice(start));
}

test.each(postOperationNames)(
  '%s accepts a body of its limit, and a larger one gets 413 with the limit',
  async (name) => {
    const bytes = MAX_BODY_BYTES[name];
    const exact = padBody(name, bytes);
    expect(exact.length).toBe(bytes);
    expect((await service.call(name, { body: exact })).status).toBe(200);
    assertTooLarge(await service.call(name, { body: padBody(name, bytes + 1) }), bytes);
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
  const headers = { ...JSON_TYPE, 'content-length': '1000' };
  const { request, response } = service.open('addPriceLists', { headers });
  await new Promise((resolve) => request.write('{"team_id":', resolve));
  await delay(50);
  request.destroy();
  await expect(response).rejects.toThrow();
  await waitFor(() => service.log.length > 0);
  expect(service.log).toMatchObject([{ severity: 'NOTICE', status: 499, client_gone: true }]);
  expect(service.log[0]).not.toHaveProperty('error_code');
});

test.each(postOperationNames)('%s gets 413 for a body with too many values', async (name) => {
  const values = `[${'0,'.repeat(Math.floor(MAX_BODY_BYTES[name] / 20))}0]`;
  const { status, json, headers } = await service.call(name, { body: values });
  expect([status, json]).toEqual([413, { error: 'Payload too large' }]);
  expect([headers['x-payload-limit-bytes'], headers['x-payload-limit-scope']]).toEqual([undefined, 'values']);
});
