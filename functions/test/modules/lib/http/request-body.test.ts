import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { ReceivedResponse } from '../../../support/answers';
import { getOperationNames, operations, postOperationNames, type PostOperationName } from '../../../support/operations';
import { startTestService, type TestRequest, type TestService } from '../../../support/service';
import { waitFor } from '../../../support/until';

const MAX_BODY_BYTES = 33_554_432;
const WRONG_KEY = { 'x-api-key': 'wrong' };

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(() => service.reset());
afterAll(() => service.close());

const valid = (name: PostOperationName) => JSON.stringify(operations[name].body);

/** A refusal in the validation shape, at the path of the body itself, that cost no call to the database. */
async function refusedBody(name: PostOperationName, request: TestRequest): Promise<void> {
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

function expectTooLarge({ status, json }: ReceivedResponse): void {
  expect([status, json]).toEqual([413, { error: 'Payload too large' }]);
}

/** The most memory outside the heap, in bytes, that the process held more than at the start while something ran. */
async function growthDuring(run: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const sampled = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 1);
  await run();
  clearInterval(sampled);
  return most;
}

describe.each(postOperationNames)('%s', (name) => {
  describe('refuses with path body', () => {
    test.each([
      ['nothing', ''],
      ['white space', ' \n\t'],
      ['an open brace', '{'],
      ['text after the value', '{}}'],
      ['a comment', '{} // {}'],
      ['single quotes', "{'team_id': 'a'}"],
      ['undefined', 'undefined'],
      ['NaN', '{"a": NaN}'],
      ['an array', '[]'],
      ['null', 'null'],
      ['a string', '"text"'],
      ['a number', '1'],
      ['true', 'true'],
      ['two byte order marks', '\ufeff\ufeff{}'],
    ])('%s', (_, body) => refusedBody(name, { body, headers: { 'content-type': 'application/json' } }));

    test('no body at all', () => refusedBody(name, {}));

    test.each([
      ['a byte that no character begins with', [0xff]],
      ['an overlong encoding', [0xc0, 0xaf]],
      ['an encoded surrogate', [0xed, 0xa0, 0x80]],
      ['a character cut short', [0xe2, 0x82]],
    ])('invalid UTF-8: %s', (_, bytes) => {
      const body = Buffer.concat([Buffer.from('{"team_id":"'), Buffer.from(bytes), Buffer.from('"}')]);
      return refusedBody(name, { body });
    });

    test('UTF-16', () => refusedBody(name, { body: Buffer.from(`\ufeff${valid(name)}`, 'utf16le') }));

    test.each([
      undefined,
      '',
      'json',
      'text/plain',
      'text/json',
      'application/jsonp',
      'application/vnd.api+json',
      'application/cloudevents+json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json, text/plain',
      'application/json; charset=iso-8859-1',
      'application/json; charset=utf-16',
      'application/json; charset=""',
    ])('the content type %j', (type) => refusedBody(name, { body: valid(name), headers: { 'content-type': type } }));

    test.each([
      ['br', brotliCompressSync],
      ['deflate', deflateSync],
      ['gzip, gzip', (text: string) => gzipSync(gzipSync(text))],
      ['zstd', (text: string) => Buffer.from(text)],
    ])('the content encoding %s', (encoding, encode) =>
      refusedBody(name, { body: encode(valid(name)), headers: { 'content-encoding': encoding } }),
    );

    const packed = gzipSync(valid(name));
    test.each([
      ['that is none', Buffer.from(valid(name))],
      ['of nothing', Buffer.alloc(0)],
      ['cut short', packed.subarray(0, -6)],
      [
        'with a flipped bit',
        Buffer.concat([packed.subarray(0, 20), Buffer.from([packed.readUInt8(20) ^ 8]), packed.subarray(21)]),
      ],
      ['with a wrong checksum', Buffer.concat([packed.subarray(0, -8), Buffer.alloc(4), packed.subarray(-4)])],
      ['of malformed JSON', gzipSync('{')],
    ])('gzip %s', (_, body) =>
      refusedBody(name, { body, headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' } }),
    );
  });

  describe('accepts', () => {
    test.each([
      'application/json; charset=utf-8',
      'Application/JSON;Charset="UTF-8"',
      'application/json ; charset=utf8',
      'application/json; profile=x',
    ])('the content type %s', async (type) => {
      const { status } = await service.call(name, { body: valid(name), headers: { 'content-type': type } });
      expect(status).toBe(200);
    });

    test.each<[string, (text: string) => TestRequest]>([
      ['a byte order mark', (text) => ({ body: `\ufeff${text}` })],
      ['gzip', (text) => ({ body: gzipSync(text), headers: { 'content-encoding': 'gzip' } })],
      [
        'gzip of a byte order mark',
        (text) => ({ body: gzipSync(`\ufeff${text}`), headers: { 'content-encoding': 'GZIP' } }),
      ],
      [
        'gzip in two members',
        (text) => ({
          body: Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))]),
          headers: { 'content-encoding': 'gzip' },
        }),
      ],
      ['the content encoding identity', (text) => ({ body: text, headers: { 'content-encoding': 'identity' } })],
      ['chunks of one byte', (text) => ({ body: Array.from(Buffer.from(text), (byte) => Buffer.from([byte])) })],
    ])('%s', async (_, sent) => {
      const { headers, ...rest } = sent(valid(name));
      const request = { ...rest, headers: { 'content-type': 'application/json', ...headers } };
      expect((await service.call(name, request)).status).toBe(200);
    });

    test('unknown fields, however deep', async () => {
      const depth = 100_000;
      const unknown = `"unknown":${'['.repeat(depth)}${']'.repeat(depth)},`;
      const body = valid(name).replace('{', `{${unknown}`);
      expect((await service.call(name, { body })).status).toBe(200);
    });

    test('characters cut apart by chunks', async () => {
      const body = Buffer.from(valid(name).replace('{', '{"unknown":"€𝄞",'));
      const cut = body.indexOf(0xe2) + 1;
      const chunks = [body.subarray(0, cut), body.subarray(cut, cut + 3), body.subarray(cut + 3)];
      expect((await service.call(name, { body: chunks, headers: { 'content-type': 'application/json' } })).status).toBe(
        200,
      );
    });
  });

  describe('at the bound of 32 MiB', () => {
    const padded = (bytes: number) => Buffer.concat([Buffer.from(valid(name)), Buffer.alloc(bytes, ' ')], bytes);
    const exact = padded(MAX_BODY_BYTES);
    const over = padded(MAX_BODY_BYTES + 1);
    const gzip = { 'content-encoding': 'gzip' };

    test('accepts a body of exactly that', async () => {
      expect((await service.call(name, { body: exact })).status).toBe(200);
    });
    test('accepts one that inflates to exactly that', async () => {
      expect((await service.call(name, { body: gzipSync(exact), headers: gzip })).status).toBe(200);
    });
    test('refuses one byte more', async () => {
      expectTooLarge(await service.call(name, { body: over }));
    });
    test('refuses one byte more in chunks', async () => {
      const chunks = [over.subarray(0, 20_000_000), over.subarray(20_000_000)];
      expectTooLarge(await service.call(name, { body: chunks, headers: { 'content-type': 'application/json' } }));
    });
    test('refuses one that inflates to one byte more', async () => {
      expectTooLarge(await service.call(name, { body: gzipSync(over), headers: gzip }));
    });
    test('refuses a longer one by its length alone, before it comes', async () => {
      const headers = { 'content-type': 'application/json', 'content-length': String(MAX_BODY_BYTES + 1) };
      const { request, answer } = service.open(name, { headers });
      request.flushHeaders();
      expectTooLarge(await answer);
      request.destroy();
    });
  });

  test('refuses a key before any of the body comes', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': '30000000' };
    const { request, answer } = service.open(name, { headers: { ...headers, ...WRONG_KEY } });
    request.flushHeaders();
    expect((await answer).status).toBe(401);
    request.destroy();

    // While with a valid key the answer waits for the body.
    const waiting = service.open(name, { headers: { ...headers, 'content-length': String(valid(name).length) } });
    waiting.request.flushHeaders();
    expect(await Promise.race([waiting.answer, delay(100, 'waiting')])).toBe('waiting');
    waiting.request.end(valid(name));
    expect((await waiting.answer).status).toBe(200);
  });

  test('survives a caller who goes away in the middle of a body', async () => {
    const { request, answer } = service.open(name, {
      headers: { 'content-type': 'application/json', 'content-length': '1000' },
    });
    await new Promise((resolve) => request.write('{"team_id":', resolve));
    await delay(50);
    request.destroy();
    await expect(answer).rejects.toThrow();
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ operation: name, status: 400 }]);
    expect((await service.call(name, { json: operations[name].body })).status).toBe(200);
  });
});

describe('with a wrong key', () => {
  test('30 MB of body are let go as they come', async () => {
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

  test('a gzip bomb stays packed', async () => {
    const bomb = gzipSync(Buffer.alloc(300_000_000));
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
    const refused = await growthDuring(async () => {
      expect((await service.call('addPriceLists', { headers: { ...headers, ...WRONG_KEY }, body: bomb })).status).toBe(
        401,
      );
    });
    expect(refused).toBeLessThan(5_000_000);
    const accepted = await growthDuring(async () => {
      expectTooLarge(await service.call('addPriceLists', { headers, body: bomb }));
    });
    expect(accepted).toBeLessThan(80_000_000);
  });
});

describe.each(getOperationNames)('%s ignores', (name) => {
  test.each<[string, TestRequest]>([
    ['a body', { body: '{"team_id": 1}' }],
    ['malformed JSON', { body: '{' }],
    ['a corrupt gzip body', { body: 'not gzip', headers: { 'content-encoding': 'gzip' } }],
    ['a content encoding', { body: 'x', headers: { 'content-encoding': 'br' } }],
    ['a charset', { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } }],
    ['chunks', { body: [Buffer.from('{'), Buffer.from('}')] }],
  ])('%s', async (_, request) => {
    expect((await service.call(name, request)).status).toBe(200);
  });

  test('a body that never comes', async () => {
    const { request, answer } = service.open(name, { headers: { 'content-length': '1000000' } });
    request.flushHeaders();
    expect((await answer).status).toBe(200);
    request.destroy();
  });
});
