import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { parseText } from '../../../src/lib/json/body-parser';
import type { PriceListInfo } from '../../../src/lib/schemas/add-price-lists';
import { MAX_CHUNK_BYTES } from '../../../src/price-lists/commit-sizes';
import { createPriceListParser } from '../../../src/price-lists/submission-parser';
import {
  Payload,
  computeFingerprint as fingerprint,
  streamCanonicalJson,
  compressToChunks,
  streamStoredText,
} from '../../../src/price-lists/payload';
import { arbitraryPriceListBody } from '../../support/arbitrary-submissions';
import { createPriceListBody, parseSubmission, type PriceListBody } from '../../support/submissions';

const fingerprintOf = (json: string) => fingerprint(parseText(createPriceListParser(), json));

/** The JSON of a value, the keys of each object sorted. */
function toSortedJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => Number(a > b) - Number(a < b));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${toSortedJson(each)}`).join()}}`;
}

const normalize = (info: PriceListInfo) => ({ ...info, currency_iso: info.currency_iso.toUpperCase() });

/** The canonical JSON, written a second time: the whole value. */
const model = ({ info, products }: PriceListBody) => toSortedJson({ info: normalize(info), products });

/** The fingerprint, written a second time. */
function fingerprintModel({ info, products }: PriceListBody): string {
  const hash = createHash('sha256').update(toSortedJson(normalize(info)));
  const ids = Object.keys(products).sort((a, b) => Number(a > b) - Number(a < b));
  for (let start = 0; start < ids.length; start += 1024) {
    const group = ids.slice(start, start + 1024);
    hash.update(JSON.stringify(group));
    for (const id of group) {
      const bits = Buffer.alloc(16);
      bits.writeDoubleLE(products[id]?.expected_forward_cost_price ?? NaN, 0);
      bits.writeDoubleLE(products[id]?.price_list_price ?? NaN, 8);
      hash.update(bits);
    }
  }
  return hash.digest('hex');
}

/** The body as JSON, the keys of every object in an order that depends on `salt`. */
function shuffled(value: unknown, salt: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const rank = (key: string) => createHash('sha256').update(`${salt} ${key}`).digest('hex');
  const entries = Object.entries(value).sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}: ${shuffled(each, salt)}`).join(', ')}}`;
}

describe('the fingerprint', () => {
  test('is the SHA-256 of the info and, in groups of 1,024, the ids and the bits of the prices', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          arbitraryPriceListBody,
          fc.constantFrom(1024, 1025, 2500).map((count) => createPriceListBody(count)),
        ),
        (body) => {
          expect(fingerprintOf(JSON.stringify(body))).toBe(fingerprintModel(body));
        },
      ),
    ));

  test('is the same for every order of keys and every case of the currency', () =>
    fc.assert(
      fc.property(arbitraryPriceListBody, fc.nat(), fc.boolean(), (body, salt, upper) => {
        const { currency_iso } = body.info;
        const cased = upper ? currency_iso.toUpperCase() : currency_iso.toLowerCase();
        const same = { ...body, info: { ...body.info, currency_iso: cased } };
        expect(fingerprintOf(shuffled(same, salt))).toBe(fingerprintOf(JSON.stringify(body)));
      }),
    ));

  test('differs wherever the payload does', () =>
    fc.assert(
      fc.property(arbitraryPriceListBody, arbitraryPriceListBody, fc.nat(), (a, b, pick) => {
        // Two times of three the second is the first with one of its parts replaced.
        const parts = [{ ...a, info: b.info }, { ...a, products: b.products }, b];
        const other = parts[pick % parts.length] ?? b;
        const equal = model(a) === model(other);
        expect(fingerprintOf(JSON.stringify(a)) === fingerprintOf(JSON.stringify(other))).toBe(equal);
      }),
    ));

  test.each(['price_list_price', 'expected_forward_cost_price'])('covers %s to the last digit', (field) => {
    const json = (price: string) => {
      const prices = { price_list_price: '1', expected_forward_cost_price: '1', [field]: price };
      const { price_list_price, expected_forward_cost_price } = prices;
      return `{"info":${JSON.stringify(createPriceListBody(1).info)},"products":{"a":{"price_list_price":${price_list_price},"expected_forward_cost_price":${expected_forward_cost_price}}}}`;
    };
    const one = fingerprintOf(json('1'));
    expect(fingerprintOf(json('1.0000000000000002'))).not.toBe(one);
    for (const same of ['1.0', '1e0', '10E-1', '1.00000000000000000000001']) {
      expect(fingerprintOf(json(same))).toBe(one);
    }
    expect(fingerprintOf(json('-0'))).toBe(fingerprintOf(json('0')));
  });
});

describe('the canonical JSON', () => {
  test('comes in pieces of 64 Ki characters and the rest of a product, and is one text', () => {
    const body = createPriceListBody(4_000);
    const submission = parseSubmission(body);
    const pieces = [...streamCanonicalJson(submission)];
    expect(pieces.join('')).toBe(model(body));
    expect(pieces.length).toBeGreaterThan(3);
    for (const piece of pieces.slice(0, -1)) {
      expect(piece.length).toBeGreaterThanOrEqual(64 * 1024);
      expect(piece.length).toBeLessThan(64 * 1024 + 200);
    }
  });
});

test('a payload has its fingerprint at once, and is packed once, when that is asked for', async () => {
  const submission = parseSubmission(createPriceListBody(3));
  const payload = new Payload(submission);
  expect([payload.submission, payload.fingerprint]).toEqual([submission, fingerprint(submission)]);
  const chunks = payload.getChunks();
  expect(payload.getChunks()).toBe(chunks);
  expect(await chunks).toEqual(await compressToChunks(submission));
});

const inflate = async (chunks: Buffer[]) => (await Readable.from(streamStoredText(chunks)).toArray()).join('');

describe('a packed payload', () => {
  test('is given back byte for byte', () =>
    fc.assert(
      fc.asyncProperty(arbitraryPriceListBody, async (body) => {
        const chunks = await compressToChunks(parseSubmission(body));
        expect(await inflate(chunks)).toBe(model(body));
      }),
    ));

  test('is given back with characters of several bytes, wherever its pieces end', async () => {
    const body = createPriceListBody(0);
    for (let i = 0; i < 200; i += 1)
      body.products[`${'€'.repeat(400)}${i}`] = { price_list_price: i, expected_forward_cost_price: 0 };
    expect(await inflate(await compressToChunks(parseSubmission(body)))).toBe(model(body));
  });

  test('is cut into chunks that fit a document each, however little it compresses', async () => {
    const body = createPriceListBody(0);
    for (let i = 0; i < 3000; i += 1) {
      body.products[randomBytes(700).toString('hex')] = { price_list_price: i, expected_forward_cost_price: 0 };
    }
    const submission = parseSubmission(body);
    const chunks = await compressToChunks(submission);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
    expect(await inflate(chunks)).toBe([...streamCanonicalJson(submission)].join(''));
  });

  test('that is incomplete is rejected', async () => {
    const chunks = await compressToChunks(parseSubmission(createPriceListBody(100)));
    const [whole = Buffer.alloc(0)] = chunks;
    await expect(inflate([whole.subarray(0, -1)])).rejects.toThrow('unexpected end of file');
    await expect(inflate([])).rejects.toThrow('unexpected end of file');
  });
});
