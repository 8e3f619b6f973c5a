import { gzipSync } from 'node:zlib';
import { PassThrough } from 'node:stream';
import { ClientGoneError, ValidationError } from '../../../../src/lib/errors';
import { checkBodyHeaders, readBody, scanBody, type RequestWithRawBody } from '../../../../src/lib/http/request-body';
import type { Shape } from '../../../../src/lib/json';

const MAX_BYTES = 200_000;
const NEVER = new AbortController().signal;

interface Reading {
  maxBytes?: number;
  timeoutMs?: number;
  parent?: AbortSignal;
}

/** Reads an object of scalars. A string is read as it is. */
const SHAPE: Shape = { kind: 'map', values: { kind: 'scalar' } };

async function read(
  request: RequestWithRawBody,
  { maxBytes = MAX_BYTES, timeoutMs = 10_000, parent = NEVER }: Reading = {},
): Promise<unknown> {
  const encoding = checkBodyHeaders(request, maxBytes);
  const value = scanBody(await readBody(request, { maxBytes, timeoutMs }, encoding, parent), SHAPE);
  return value instanceof Map ? Object.fromEntries(value) : value;
}

type Headers = Record<string, string>;

const JSON_TYPE: Headers = { 'Content-Type': 'application/json' };

function createRequest(headers: Headers = JSON_TYPE): PassThrough & RequestWithRawBody {
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const fields = { rawHeaders: Object.entries(headers).flat(), headers: Object.fromEntries(lowerCase) };
  return Object.assign(new PassThrough(), fields) as unknown as PassThrough & RequestWithRawBody;
}

/** Sends a body in the given chunks. @returns the parsed value, or the error */
async function send(chunks: readonly (string | Buffer)[], headers: Headers = JSON_TYPE, reading: Reading = {}) {
  const request = createRequest(headers);
  const result = read(request, reading).catch((error: unknown) => error);
  for (const chunk of chunks) {
    request.write(chunk);
    // Without this pause, the stream would join the chunks.
    await new Promise(setImmediate);
  }
  request.end();
  return result;
}

const getMessage = (error: unknown) => {
  if (!(error instanceof ValidationError)) throw new Error('no validation error', { cause: error });
  expect(error.errors).toHaveLength(1);
  expect(error.errors[0]?.path).toBe('body');
  return error.errors[0]?.message;
};

const tooLarge = { code: 'payload_too_large', headers: { 'X-Payload-Limit-Scope': 'body' } };

test('the rest of a rejected body is discarded as it arrives', async () => {
  const request = createRequest();
  const result = read(request, { maxBytes: 9 });
  request.write('x'.repeat(10));
  await expect(result).rejects.toMatchObject(tooLarge);
  request.write('more');
  await new Promise(setImmediate);
  expect([request.readableFlowing, request.listenerCount('data'), request.readableLength]).toEqual([true, 0, 0]);
});

describe('the content type', () => {
  test.each(['Application/JSON', 'application/json;charset="UTF-8"', 'application/json; charset=utf8; profile=x'])(
    '%s is accepted',
    async (type) => {
      expect(await send(['{"a":1}'], { 'X-First': '1', 'CONTENT-type': type })).toEqual({ a: 1 });
    },
  );

  test.each([
    ['it is missing', {}, 'Expected the content type application/json, received none'],
    ['it is malformed', { 'Content-Type': 'json' }, 'Expected the content type application/json'],
    ['it is not JSON', { 'Content-Type': 'text/json' }, 'Expected the content type application/json, received another'],
    [
      'its charset is UTF-16',
      { 'Content-Type': 'application/json; charset=utf-16' },
      'Expected the charset UTF-8, received another',
    ],
    [
      'its name is only the value of another header',
      { 'X-Type': 'content-type', a: 'b' },
      'Expected the content type application/json, received none',
    ],
  ])('is rejected if %s', async (_, headers, message) => {
    expect(getMessage(await send(['{}'], headers as Headers))).toBe(message);
  });
});

describe('the content encoding', () => {
  const body = gzipSync('{"a":1}');

  test.each([
    [' GZIP ', body],
    ['identity', '{"a":1}'],
    ['', '{"a":1}'],
  ])('%j is accepted', async (encoding, sent) => {
    expect(await send([sent], { ...JSON_TYPE, 'Content-Encoding': encoding })).toEqual({ a: 1 });
  });

  test('"br" is rejected', async () => {
    const result = await send(['{}'], { ...JSON_TYPE, 'Content-Encoding': 'br' });
    expect(getMessage(result)).toBe('Expected the content encoding gzip or none, received another');
  });

  test.each([
    ['not gzip', Buffer.from('{}')],
    ['cut short', body.subarray(0, -4)],
  ])('gzip of a body that is %s is rejected', async (_, sent) => {
    const result = await send([sent], { ...JSON_TYPE, 'Content-Encoding': 'gzip' });
    expect(getMessage(result)).toBe('Expected a valid gzip body');
  });
});

describe('the text of a body', () => {
  test('can arrive in chunks that end anywhere', async () => {
    const bytes = Array.from(Buffer.from('{"é€𝄞":"é€𝄞"}'), (byte) => Buffer.from([byte]));
    expect(await send(bytes)).toEqual({ 'é€𝄞': 'é€𝄞' });
  });

  test('is rejected if it is empty', async () => {
    expect(getMessage(await send(['']))).toBe('Expected JSON, received no body');
  });

  test('is rejected if a character is cut short', async () => {
    expect(getMessage(await send([Buffer.from([0xe2, 0x82])]))).toBe('Expected UTF-8, received other bytes');
  });

  test('can begin with one byte order mark', async () => {
    expect(await send(['\ufeff{}'])).toEqual({});
    expect(getMessage(await send(['\ufeff\ufeff{}']))).toBe('Expected JSON, received other text at position 3');
  });

  test.each([
    ['{"a":1,}', 7],
    ['\ufeff{"é":1 2}', 11],
    ['{"\\n":1,}', 8],
    ['"at position 5" secret', 16],
  ])('%j is not JSON, and the message names the position %d', async (text, place) => {
    expect(getMessage(await send([text]))).toBe(`Expected JSON, received other text at position ${place}`);
  });
});

describe('a body', () => {
  const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;

  test('at the limit is accepted, plain and inflated', async () => {
    expect(await send([text(1_000)], JSON_TYPE, { maxBytes: 1_000 })).toHaveLength(998);
    const gzip = { ...JSON_TYPE, 'Content-Encoding': 'gzip' };
    expect(await send([gzipSync(text(1_000))], gzip, { maxBytes: 1_000 })).toHaveLength(998);
    const length = { ...JSON_TYPE, 'Content-Length': '1000' };
    expect(await send([text(1_000)], length, { maxBytes: 1_000 })).toHaveLength(998);
  });

  test('one byte above the limit is rejected, plain and inflated', async () => {
    const headers = { ...tooLarge.headers, 'X-Payload-Limit-Bytes': '1000' };
    const error = { ...tooLarge, headers };
    expect(await send([text(500), text(501)], JSON_TYPE, { maxBytes: 1_000 })).toMatchObject(error);
    const gzip = { ...JSON_TYPE, 'Content-Encoding': 'gzip' };
    expect(await send([gzipSync(text(1_001))], gzip, { maxBytes: 1_000 })).toMatchObject(error);
  });

  test('above the limit is rejected for its Content-Length before it arrives', async () => {
    const request = createRequest({ ...JSON_TYPE, 'Content-Length': '1001' });
    await expect(read(request, { maxBytes: 1_000 })).rejects.toMatchObject(tooLarge);
  });

  test('above the limit is rejected for its compressed size, even if nothing of it inflates', async () => {
    // This gzip header has a name that never ends.
    const header = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);
    const request = createRequest({ ...JSON_TYPE, 'Content-Encoding': 'gzip' });
    const result = read(request, { maxBytes: 1_000 });
    request.write(header);
    request.write(Buffer.alloc(1_000, 'x'));
    await expect(result).rejects.toMatchObject(tooLarge);
  });
});

describe('the reading of a body', () => {
  test('ends with an error at the timeout', async () => {
    const request = createRequest();
    request.write('{');
    await expect(read(request, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'request_timeout',
      message: 'the body did not arrive in time',
    });
  });

  describe('with a limit of 10 s between bytes', () => {
    beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] }));
    afterEach(() => jest.useRealTimers());

    const advance = async (ms: number) => {
      jest.advanceTimersByTime(ms);
      await new Promise(setImmediate);
    };

    test('ends with an error when no byte has arrived for 10 s', async () => {
      const request = createRequest();
      const reading = expect(read(request, { timeoutMs: 30_000 })).rejects.toMatchObject({
        code: 'request_timeout',
        message: 'no byte of the body arrived for 10000 ms',
      });
      const endTime = jest.fn();
      void reading.then(endTime);
      for (const ms of [0, 9_900, 9_900]) {
        await advance(ms);
        request.write(' ');
        await new Promise(setImmediate);
      }
      await advance(9_900);
      expect(endTime).not.toHaveBeenCalled();
      await advance(100);
      await reading;
    });

    test('continues if bytes have arrived while the process was busy', async () => {
      const request = createRequest();
      const reading = read(request, { timeoutMs: 30_000 });
      await advance(0);
      jest.advanceTimersByTime(10_000);
      request.end('{"a":1}');
      expect(await reading).toEqual({ a: 1 });
    });

    test('leaves no timer behind when the body is complete', async () => {
      await send(['{}']);
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  test('ends when its signal aborts, and before the first byte if the signal has already aborted', async () => {
    const controller = new AbortController();
    const reading = read(createRequest(), { parent: controller.signal });
    controller.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
    await expect(read(createRequest(), { parent: controller.signal })).rejects.toThrow('stopped');
  });

  test('ends when its signal aborts while the body is inflated', async () => {
    const controller = new AbortController();
    const request = createRequest({ ...JSON_TYPE, 'Content-Encoding': 'gzip' });
    request.once('end', () => setImmediate(() => controller.abort(new Error('stopped'))));
    request.end(gzipSync(Buffer.alloc(20_000_000, '1')));
    await expect(read(request, { maxBytes: 30_000_000, parent: controller.signal })).rejects.toThrow('stopped');
  });

  test('ends when the client disconnects', async () => {
    const request = createRequest();
    const reading = read(request);
    request.write('{');
    request.destroy();
    await expect(reading).rejects.toThrow(ClientGoneError);
  });
});

test('a body that the server has read already is taken from rawBody', async () => {
  const request = createRequest({ ...JSON_TYPE, 'Content-Encoding': 'gzip' });
  expect(await read(Object.assign(request, { rawBody: Buffer.from('{"a":1}') }))).toEqual({ a: 1 });
  const large = Object.assign(createRequest(), { rawBody: Buffer.alloc(1_001, ' ') });
  await expect(read(large, { maxBytes: 1_000 })).rejects.toMatchObject(tooLarge);
});
