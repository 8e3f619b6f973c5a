import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { operations } from '../../dev/run/operations';
import { DEPLOYED_KEY } from '../harness/deployed-package';

/** Three different operations: a read that browsers can call, a read that takes a body, and the creation. */
export const FUZZED_OPERATIONS = ['getWarehouses', 'getOrdersByTeam', 'addPriceLists'] as const;

const MAX_BODY_BYTES = 32 * 1024 * 1024;

const spaces = (bytes: number) => Buffer.alloc(bytes, ' ');

/** A gzip body of 146 kB that inflates to slightly more than the limit of add price lists. */
const BOMB = gzipSync(spaces(MAX_BODY_BYTES + 2), { level: 1 });

/** Generates a hostile value for one request in seven. The others get undefined, and then use the valid value. */
const sometimes = <T>(hostile: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: hostile });

const int = (min: number, max: number) => fc.integer({ min, max });

const body = fc.oneof(
  fc.constantFrom('null', '[]', '{}', '-1', '""', '{"__proto__":{}}').map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 2_000, size: 'max' }).map((bytes) => Buffer.from(bytes)),
  int(1, 50_000).map((levels) => Buffer.from('['.repeat(levels))),
  int(1, 10_000).map((levels) => Buffer.from(`{"a":${'[{"a":'.repeat(levels)}`)),
  int(1, 100).map((count) => Buffer.from(`"${'\\ud800'.repeat(count)}"`)),
);

const fraction = fc.double({ min: 0, max: 1, noNaN: true });

const encoding = fc
  .tuple(
    fc.constantFrom('gzip', 'gzip', 'deflate', 'br', 'x-gzip', 'gzip, gzip', 'identity', '\u0001'),
    fc.constantFrom<((body: Buffer) => Buffer)[]>(
      gzipSync,
      deflateSync,
      (body) => body,
      () => BOMB,
    ),
    sometimes(fraction),
  )
  .map(([name, pack, kept = 1]) => ({
    name,
    encode: (body: Buffer) => {
      const packed = pack(body);
      return packed.subarray(0, kept * packed.length);
    },
  }));

/** The number of spaces that are inserted into a body. The largest bodies are rare. */
const padding = fc.oneof(
  { weight: 40, arbitrary: int(10_000, 300_000) },
  { weight: 1, arbitrary: int(MAX_BODY_BYTES - 200, MAX_BODY_BYTES) },
);

const framing = fc.oneof(
  fc
    .constantFrom('0', '-1', '1e9', '99999999999999999999', 'x', '1000', '5, 5')
    .map((length) => ['Content-Length', length]),
  fc
    .constantFrom('chunked', 'chunked, chunked', 'gzip, chunked', 'xchunked')
    .map((name) => ['Transfer-Encoding', name]),
);

const headers = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'Accept-Encoding',
        'Expect',
        'Origin',
        'Upgrade',
        'x y',
        '__proto__',
        'X-Request-Id',
        'X-API-KEY',
      ),
      fc.oneof(
        fc.constantFrom('*', 'br;q=2', '100-continue', 'null', 'h2c', '\t', '"', 'é😀', DEPLOYED_KEY),
        int(1, 30_000).map((length) => 'a'.repeat(length)),
      ),
    )
    .map((header) => [header]),
  int(1, 3_000).map((count) => Array.from({ length: count }, (_, i) => [`x-${i}`, ''])),
);

const damage = fc.oneof(
  fraction.map((kept) => (bytes: Buffer) => bytes.subarray(0, kept * bytes.length)),
  fc.uint8Array({ minLength: 1, maxLength: 500, size: 'max' }).map((noise) => () => Buffer.from(noise)),
  fc.array(fc.tuple(int(0, 400), int(0, 255)), { minLength: 1, maxLength: 5 }).map((flips) => (bytes: Buffer) => {
    for (const [index, byte] of flips) bytes.writeUInt8(byte, index % bytes.length);
    return bytes;
  }),
);

export interface HostileRequest {
  operation: (typeof FUZZED_OPERATIONS)[number];
  bytes: Buffer;
  /** Milliseconds between the halves of the bytes. Undefined if they are sent at once. */
  pauseMs: number | undefined;
  /** What the client does after the last byte: it waits for the response, closes its side, or destroys the connection. */
  end: 'wait' | 'half-close' | 'destroy';
}

/** Generates requests. Each part of a request is valid or hostile. */
export const hostileRequest: fc.Arbitrary<HostileRequest> = fc
  .record({
    operation: fc.constantFrom(...FUZZED_OPERATIONS),
    method: sometimes(fc.constantFrom('HEAD', 'PUT', 'OPTIONS', 'TRACE', 'CONNECT', 'get', 'G@T', '')),
    path: sometimes(
      fc.constantFrom('', '*', '//', '/%', '/%ff%fe', '/?%', '/\u0000', '/é', 'http://x/%zz', `/${'a'.repeat(9_000)}`),
    ),
    key: sometimes(fc.constantFrom('', ' ', 'wrong', DEPLOYED_KEY.slice(1), 'é', '\u0000', 'k'.repeat(9_000))),
    type: sometimes(fc.constantFrom('text/plain', 'multipart/form-data', '/', '', 'application/cloudevents+json')),
    headers: sometimes(headers),
    body: sometimes(body),
    padding: sometimes(padding),
    encoding: sometimes(encoding),
    framing: sometimes(framing),
    damage: sometimes(damage),
    pauseMs: sometimes(int(0, 200)),
    end: fc.oneof({ weight: 18, arbitrary: fc.constant('wait') }, fc.constantFrom('half-close', 'destroy')),
  })
  .map(({ operation, path = '/', key = DEPLOYED_KEY, type = 'application/json', pauseMs, end, ...parts }) => {
    const valid = operations[operation];
    const given = parts.body ?? Buffer.from('body' in valid ? JSON.stringify(valid.body) : '');
    const padded = Buffer.concat([given.subarray(0, -1), spaces(parts.padding ?? 0), given.subarray(-1)]);
    const content = parts.encoding?.encode(padded) ?? padded;
    const fields = [
      ['Host', '127.0.0.1'],
      ['Connection', 'close'],
      ['x-api-key', key],
      ['Content-Type', type],
      ...(parts.encoding === undefined ? [] : [['Content-Encoding', parts.encoding.name]]),
      ...(parts.headers ?? []),
      parts.framing ?? ['Content-Length', String(content.length)],
    ];
    const line = `${parts.method ?? valid.method} ${path} HTTP/1.1`;
    const head = [line, ...fields.map((field) => field.join(': ')), '', ''].join('\r\n');
    const bytes = Buffer.concat([Buffer.from(head), content]);
    return { operation, bytes: parts.damage?.(bytes) ?? bytes, pauseMs, end };
  });
