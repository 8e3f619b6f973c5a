import { deflateSync, gzipSync } from 'node:zlib';
import type { Random } from '../../../local/sample/random';
import { operations, type OperationName } from '../../../scripts/harness/operations';

/** The bytes of a hostile request, and how they are sent. */
export interface HostileRequest {
  operation: OperationName;
  /** The names of the mutations and of the damage, and `slow` if the pieces are sent slowly. */
  kind: string;
  pieces: Buffer[];
  /** Milliseconds between pieces. */
  paceMs: number;
  /** What the client does after the last piece: it waits for the response, closes its side, or destroys the connection. */
  end: 'wait' | 'half-close' | 'destroy';
}

export const FUZZ_KEY = 'fuzz-key';

/** One operation of each kind: a list that browsers can call, a read that takes a body, and the creation. */
export const FUZZED_OPERATIONS = ['getWarehouses', 'getOrdersByTeam', 'addPriceLists'] as const;

const MAX_BODY_BYTES = 32 * 1024 * 1024;

type Headers = [name: string, value: string][];

/** A request that is valid until mutations change it. */
interface Draft {
  method: string;
  path: string;
  headers: Headers;
  body: Buffer;
}

type Mutation = (draft: Draft, random: Random) => void;

/** Creates a valid request and changes it by one to three mutations. Damages the bytes of some requests after that. */
export function hostileRequest(random: Random): HostileRequest {
  const operation = random.pick(FUZZED_OPERATIONS);
  const draft = goodRequest(operation);
  const kinds = Array.from({ length: random.int(1, 3) }, () => random.pick(mutationNames));
  for (const kind of kinds) mutations[kind](draft, random);
  const [spoiling, bytes] = corruptBytes(serializeRequest(draft), random);
  const slow = random.chance(0.02);
  return {
    operation,
    kind: [...kinds, spoiling, slow ? 'slow' : ''].filter(Boolean).join(' + '),
    pieces: slow ? splitBytes(bytes, random.int(2, 6)) : random.chance(0.3) ? splitBytes(bytes, 2) : [bytes],
    paceMs: slow ? random.int(20, 200) : 0,
    end: random.pick([...waits, 'half-close', 'destroy']),
  };
}

const waits = Array.from({ length: 18 }, () => 'wait' as const);

function goodRequest(operation: OperationName): Draft {
  const good = operations[operation];
  const body = 'body' in good ? JSON.stringify(good.body) : '';
  const headers: Headers = [
    ['Host', '127.0.0.1'],
    ['Connection', 'close'],
    ['x-api-key', FUZZ_KEY],
  ];
  if (body !== '') headers.push(['Content-Type', 'application/json']);
  return { method: good.method, path: '/', headers, body: Buffer.from(body) };
}

const mutations = {
  'body of anything': (draft, random) => {
    draft.body = random.pick([
      () => Buffer.from(random.pick(['null', '[]', '{}', '-1', '""', '{"__proto__":{}}'])),
      () => randomBytes(random, random.int(0, 2_000)),
      () => Buffer.from('['.repeat(random.int(1, 50_000))),
      () => Buffer.from(`{"a":${'[{"a":'.repeat(random.int(1, 10_000))}`),
      () => Buffer.from(`"${'\\ud800'.repeat(random.int(1, 100))}"`),
    ])();
  },
  'content type': ({ headers }, random) => {
    const types = ['text/plain', 'multipart/form-data', '/', ''] as const;
    const type = random.pick([...types, 'application/cloudevents+json']);
    set(headers, 'Content-Type', type);
  },
  'content encoding': (draft, random) => {
    const encoding = random.pick(['gzip', 'deflate', 'br', 'x-gzip', 'gzip, gzip', 'identity', '\u0001']);
    set(draft.headers, 'Content-Encoding', encoding);
    const packed = random.pick([gzipSync, deflateSync, (bytes: Buffer) => bytes])(draft.body);
    draft.body = random.chance(0.3) ? packed.subarray(0, random.int(0, packed.length)) : packed;
  },
  key: ({ headers }, random) => {
    const keys = ['', ' ', 'wrong', `${FUZZ_KEY} `, FUZZ_KEY.slice(1), 'é', '\u0000'] as const;
    set(headers, 'x-api-key', random.pick([...keys, 'k'.repeat(9_000)]));
  },
  'key twice': ({ headers }) => void headers.push(['X-API-KEY', FUZZ_KEY]),
  header: ({ headers }, random) => {
    const names = ['Accept-Encoding', 'Expect', 'Origin', 'Upgrade', 'x y', '__proto__'] as const;
    const values = ['*', 'br;q=2', '100-continue', 'null', 'h2c', '\t', '"', 'é😀'] as const;
    const value = random.pick([...values, 'a'.repeat(random.int(1, 30_000))]);
    set(headers, random.pick([...names, 'X-Request-Id']), value);
  },
  'many headers': ({ headers }, random) => {
    for (let i = random.int(1, 3_000); i > 0; i -= 1) headers.push([`x-${i}`, '']);
  },
  method: (draft, random) => {
    draft.method = random.pick(['HEAD', 'PUT', 'OPTIONS', 'TRACE', 'CONNECT', 'get', 'G@T', '']);
  },
  path: (draft, random) => {
    const paths = ['', '*', '//', '/%', '/%ff%fe', '/?%', '/\u0000', '/é', 'http://x/%zz'] as const;
    draft.path = random.pick([...paths, '/favicon.ico', `/${'a'.repeat(9_000)}`]);
  },
  framing: ({ headers, body }, random) => {
    const { length } = body;
    const lengths = ['0', '-1', '1e9', '99999999999999999999', 'x'] as const;
    const encodings = ['chunked', 'chunked, chunked', 'gzip, chunked', 'xchunked'] as const;
    const more = length + random.int(1, 100);
    const wrong = random.pick([...lengths, String(more), `${length}, ${length}`]);
    if (random.chance(0.5)) set(headers, 'Content-Length', wrong);
    else set(headers, 'Transfer-Encoding', random.pick(encodings));
  },
  'a large body': (draft, random) => {
    const large = random.chance(0.02) ? MAX_BODY_BYTES + random.int(-2, 2) : random.int(10_000, 300_000);
    draft.body = Buffer.concat([
      draft.body.subarray(0, -1),
      SPACES.subarray(0, Math.max(0, large - draft.body.length)),
      draft.body.subarray(-1),
    ]);
  },
  'a bomb': (draft, random) => {
    set(draft.headers, 'Content-Encoding', 'gzip');
    const spaces = SPACES.subarray(0, random.int(1, 1_000_000));
    draft.body = random.chance(0.1) ? BOMB : gzipSync(spaces, { level: 1 });
  },
} satisfies Record<string, Mutation>;

const SPACES = Buffer.alloc(MAX_BODY_BYTES + 2, ' ');

/** 146 kB of gzip that inflate to slightly more than the limit. */
const BOMB = gzipSync(SPACES, { level: 1 });

const mutationNames = Object.keys(mutations) as (keyof typeof mutations)[];

function set(headers: Headers, name: string, value: string): void {
  const at = headers.findIndex(([each]) => each.toLowerCase() === name.toLowerCase());
  if (at === -1) headers.push([name, value]);
  else headers[at] = [name, value];
}

/** Returns the bytes of a request, with the true length of its body unless a mutation set another framing. */
function serializeRequest({ method, path, headers, body }: Draft): Buffer {
  const framed = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const all: Headers = framed || body.length === 0 ? headers : [...headers, ['Content-Length', String(body.length)]];
  const head = [`${method} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head), body]);
}

/** Damages the bytes of a few requests only, so that most requests stay valid HTTP and reach the service. */
function corruptBytes(bytes: Buffer, random: Random): [kind: string, bytes: Buffer] {
  const chance = random.next();
  if (chance > 0.12) return ['', bytes];
  if (chance > 0.08) return ['cut off', bytes.subarray(0, random.int(0, bytes.length))];
  if (chance > 0.06) return ['noise', randomBytes(random, random.int(1, 500))];
  const flipped = Buffer.from(bytes);
  for (let i = random.int(1, 5); i > 0; i -= 1)
    flipped[random.int(0, Math.min(bytes.length, 400) - 1)] = random.int(0, 255);
  return ['flipped bytes', flipped];
}

const randomBytes = (random: Random, length: number): Buffer =>
  Buffer.alloc(length).map(() => random.int(0, 255)) as Buffer;

function splitBytes(bytes: Buffer, pieces: number): Buffer[] {
  const size = Math.ceil(bytes.length / pieces);
  return Array.from({ length: pieces }, (_, i) => bytes.subarray(i * size, (i + 1) * size)).filter(
    ({ length }) => length > 0,
  );
}
