import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import * as functions from '../../src';
import { gzipRepeated } from '../support/gzip';
import type { ReceivedResponse } from '../support/received-response';
import { getOperationNames, operations, postOperationNames, type PostOperationName } from '../support/operations';
import { type TestRequest, useTestService } from '../support/service';
import { waitFor } from '../support/wait-for';

const MIB = 1_048_576;
const MAX_BODY_BYTES = { getOrdersByTeam: MIB, supplyOrdersInvoices: MIB, addPriceLists: 32 * MIB } as const;
const WRONG_KEY = { 'x-api-key': 'wrong' };
const JSON_TYPE = { 'content-type': 'application/json' };

const service = useTestService(functions);
beforeEach(() => service.reset());

const valid = (name: PostOperationName) => JSON.stringify(operations[name].body);

/** Asserts a validation error at the path of the body itself, without a call to the database. */
async function expectInvalidBody(name: PostOperationName, request: TestRequest): Promise<void> {
  const before = service.firestore.counts();
  const { status, json } = await service.call(name, request);
  expect([status, json]).toEqual([
    400,
    {
      success: false,
      message: 'Payload is invalid',
      errors: [{ path: 'body', message: expect.stringMatching(/^(Expected|The body)/) as string }],
    },
  ]);
  expect(service.firestore.counts()).toEqual(before);
}

function assertTooLarge({ status, json, headers }: ReceivedResponse, bytes: number, scope = 'body'): void {
  expect([status, json]).toEqual([413, { error: 'Payload too large' }]);
  expect([headers['x-payload-limit-bytes'], headers['x-payload-limit-scope']]).toEqual([String(bytes), scope]);
}

/** A valid body of so many bytes: of a read with white space after it, of add price lists with more products. */
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

const MEMBER_BYTES = 30_000;

/** The peak of memory outside the heap while something runs, in bytes above the start. */
async function growthDuring(run: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const sampled = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 1);
  await run();
  clearInterval(sampled);
  return most;
}

describe.each(postOperationNames)('%s', (name) => {
  describe('rejects with path body', () => {
    test('no body at all', () => expectInvalidBody(name, {}));

    test.each([
      ['malformed', '{'],
      ['another value than an object', '[]'],
    ])('%s JSON', (_, body) => expectInvalidBody(name, { body, headers: JSON_TYPE }));

    // Some of these the Functions Framework would parse by itself.
    test.each([undefined, 'text/plain', 'application/cloudevents+json', 'application/x-www-form-urlencoded'])(
      'the content type %j',
      (type) => expectInvalidBody(name, { body: valid(name), headers: { 'content-type': type } }),
    );

    test.each([
      ['br', brotliCompressSync(valid(name))],
      ['gzip', Buffer.from(valid(name))],
    ])('what is not %s, or not accepted', (encoding, body) =>
      expectInvalidBody(name, { body, headers: { ...JSON_TYPE, 'content-encoding': encoding } }),
    );
  });

  describe('accepts', () => {
    test.each<[string, TestRequest]>([
      ['gzip', { body: gzipSync(valid(name)), headers: { 'content-encoding': 'gzip' } }],
      ['chunks of one byte', { body: Array.from(Buffer.from(valid(name)), (byte) => Buffer.from([byte])) }],
      ['a charset', { body: valid(name), headers: { 'content-type': 'Application/JSON;Charset="UTF-8"' } }],
    ])('%s', async (_, { body, headers }) => {
      expect((await service.call(name, { body, headers: { ...JSON_TYPE, ...headers } })).status).toBe(200);
    });

    test('unknown fields, however deep', async () => {
      const depth = 100_000;
      const unknown = `"unknown":${'['.repeat(depth)}${']'.repeat(depth)},`;
      const body = valid(name).replace('{', `{${unknown}`);
      expect((await service.call(name, { body })).status).toBe(200);
    });
  });

  describe('at its limit', () => {
    const bytes = MAX_BODY_BYTES[name];
    const exact = padBody(name, bytes);
    const over = padBody(name, bytes + 1);

    test('accepts a body of exactly that', async () => {
      expect(exact.length).toBe(bytes);
      expect((await service.call(name, { body: exact })).status).toBe(200);
    });
    test('rejects one byte more, and tells the limit', async () => {
      assertTooLarge(await service.call(name, { body: over }), bytes);
    });
    test('rejects a longer one by its length alone, before it arrives', async () => {
      const headers = { ...JSON_TYPE, 'content-length': String(bytes + 1) };
      const { request, response } = service.open(name, { headers });
      request.flushHeaders();
      assertTooLarge(await response, bytes);
      request.destroy();
    });
  });

  test('rejects a wrong API key before the body arrives', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': '30000000' };
    const { request, response } = service.open(name, { headers: { ...headers, ...WRONG_KEY } });
    request.flushHeaders();
    expect((await response).status).toBe(401);
    request.destroy();

    // With a valid API key the response waits for the body.
    const waiting = service.open(name, { headers: { ...headers, 'content-length': String(valid(name).length) } });
    waiting.request.flushHeaders();
    expect(await Promise.race([waiting.response, delay(100, 'waiting')])).toBe('waiting');
    waiting.request.end(valid(name));
    expect((await waiting.response).status).toBe(200);
  });

  test('survives a client that disconnects in the middle of a body, and logs the status 499', async () => {
    const { request, response } = service.open(name, {
      headers: { 'content-type': 'application/json', 'content-length': '1000' },
    });
    await new Promise((resolve) => request.write('{"team_id":', resolve));
    await delay(50);
    request.destroy();
    await expect(response).rejects.toThrow();
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ operation: name, severity: 'NOTICE', status: 499, client_gone: true }]);
    expect(service.log[0]).not.toHaveProperty('error_code');
    expect((await service.call(name, { json: operations[name].body })).status).toBe(200);
  });
});

describe('add price lists', () => {
  const body = (members: string, unknown: string) =>
    `{"unknown":"${unknown}",${valid('addPriceLists').slice(1, -2)},${members}}}`;
  const product = (bytes: number) =>
    `"a":{"price_list_price":1,"expected_forward_cost_price":1,"unknown":"${'x'.repeat(bytes)}"}`;
  const jsonOfProduct = product(0).length - '"a":'.length;

  test('accepts 64 KiB of one product, and 1 MiB outside products', async () => {
    const outside =
      MIB -
      body('', '').length +
      valid('addPriceLists').slice(valid('addPriceLists').indexOf('"cement"'), -2).length +
      1;
    const request = { body: body(product(64 * 1024 - jsonOfProduct), 'x'.repeat(outside)), headers: JSON_TYPE };
    expect((await service.call('addPriceLists', request)).status).toBe(200);
    const over = { ...request, body: body(product(0), 'x'.repeat(outside + 1)) };
    assertTooLarge(await service.call('addPriceLists', over), MIB, 'outside_products');
  });

  test('rejects a product of one byte more', async () => {
    const request = { body: body(product(64 * 1024 - jsonOfProduct + 1), ''), headers: JSON_TYPE };
    assertTooLarge(await service.call('addPriceLists', request), 64 * 1024, 'product');
  });

  test('rejects other text than JSON before the rest of the body arrives', async () => {
    const headers = { ...JSON_TYPE, 'content-length': '30000000' };
    const { request, response } = service.open('addPriceLists', { headers });
    request.write(`{"info":x${' '.repeat(64 * 1024)}`);
    const errors = [{ path: 'body', message: 'Expected JSON, received other text at byte 8' }];
    expect(await response).toMatchObject({ status: 400, json: { errors } });
    request.destroy();
  });

  test.each([
    ['of other text than JSON', '{"info":x', 400],
    ['with a product that is too large', `{"products":{"a":"${'x'.repeat(65 * 1024)}`, 413],
  ])('reads a body %s to its end for a client that sends before it reads', async (_, start, status) => {
    const body = Buffer.from(start.padEnd(30_000_000));
    const headers = { ...JSON_TYPE, 'content-length': String(body.length) };
    const { request, response } = service.open('addPriceLists', { headers });
    await new Promise((resolve) => request.end(body, () => resolve(undefined)));
    expect((await response).status).toBe(status);
  });

  test('a gzip bomb that is not JSON is rejected at its first byte', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
    const growth = await growthDuring(async () => {
      const { status, json } = await service.call('addPriceLists', { headers, body: gzipRepeated('\0', 300_000_000) });
      const errors = [{ path: 'body', message: 'Expected JSON, received other text at byte 0' }];
      expect([status, json]).toEqual([400, { success: false, message: 'Payload is invalid', errors }]);
    });
    expect(growth).toBeLessThan(80_000_000);
  });

  test('rejects an identifier of more than 64 KiB', async () => {
    const request = { body: body(`"${'x'.repeat(64 * 1024)}":{}`, ''), headers: JSON_TYPE };
    assertTooLarge(await service.call('addPriceLists', request), 64 * 1024, 'product');
  });
});

describe('with a wrong key', () => {
  test('30 MB of body are discarded as they arrive', async () => {
    const piece = Buffer.alloc(1_000_000, 'x');
    const body = function* () {
      for (let i = 0; i < 30; i += 1) yield piece;
    };
    const growth = await growthDuring(async () => {
      const { status } = await service.call('addPriceLists', { headers: WRONG_KEY, body: body() });
      expect(status).toBe(401);
    });
    expect(growth).toBeLessThan(10_000_000);
  });

  test('a gzip bomb is not inflated', async () => {
    const bomb = gzipRepeated(' ', 300_000_000);
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
    const rejected = await growthDuring(async () => {
      expect((await service.call('addPriceLists', { headers: { ...headers, ...WRONG_KEY }, body: bomb })).status).toBe(
        401,
      );
    });
    expect(rejected).toBeLessThan(5_000_000);
    const accepted = await growthDuring(async () => {
      assertTooLarge(await service.call('addPriceLists', { headers, body: bomb }), MIB, 'outside_products');
    });
    expect(accepted).toBeLessThan(80_000_000);
  });
});

describe.each(getOperationNames)('%s ignores', (name) => {
  test.each<[string, TestRequest]>([
    ['malformed JSON', { body: '{' }],
    ['a content encoding', { body: 'x', headers: { 'content-encoding': 'br' } }],
  ])('%s', async (_, request) => {
    expect((await service.call(name, request)).status).toBe(200);
  });

  test('a body that never comes', async () => {
    const { request, response } = service.open(name, { headers: { 'content-length': '1000000' } });
    request.flushHeaders();
    expect((await response).status).toBe(200);
    request.destroy();
  });
});
