import { createHash, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { PriceListInfo } from '../../../src/lib/schemas/add-price-lists';
import * as submissionParser from '../../../src/price-lists/submission-parser';
import {
  MAX_CHUNK_BYTES,
  Payload,
  computeFingerprint as fingerprint,
  streamCanonicalJson,
  compressToChunks,
  parseStoredPayload,
} from '../../../src/price-lists/payload';
import { arbitraryPriceListBody } from '../../support/arbitrary-submissions';
import { createPriceListBody, parseSubmission, parseText, type PriceListBody } from '../../support/submissions';

const fingerprintOf = (json: string) => fingerprint(parseText(submissionParser.createPriceListParser(), json));

/** Returns the JSON of a value with the keys of each object sorted. */
function toSortedJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => Number(a > b) - Number(a < b));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${toSortedJson(each)}`).join()}}`;
}

const normalize = (info: PriceListInfo) => ({ ...info, currency_iso: info.currency_iso.toUpperCase() });

/** Returns the canonical JSON, by a second implementation that creates the whole text at once. */
const model = ({ info, products }: PriceListBody) => toSortedJson({ info: normalize(info), products });

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the fingerprint', () => {
  test('is the SHA-256 of the canonical JSON', () =>
    fc.assert(
      fc.property(arbitraryPriceListBody, (body) => {
        expect(fingerprintOf(JSON.stringify(body))).toBe(sha256(model(body)));
      }),
    ));

  test('covers every product of a list that is hashed in several pieces', () => {
    const body = createPriceListBody(4_000);
    expect(fingerprint(parseSubmission(body))).toBe(sha256(model(body)));
  });
});

describe('the canonical JSON', () => {
  test('comes in pieces that end with the product that reaches 16 Ki characters', () => {
    const body = createPriceListBody(4_000);
    const submission = parseSubmission(body);
    const pieces = [...streamCanonicalJson(submission)];
    expect(pieces.join('')).toBe(model(body));
    expect(pieces.length).toBeGreaterThan(3);
    for (const piece of pieces.slice(0, -1)) {
      expect(piece.length).toBeGreaterThanOrEqual(16 * 1024);
      expect(piece.length).toBeLessThan(16 * 1024 + 200);
    }
  });
});

test('a payload has its fingerprint at once, and compresses its chunks once, when they are first needed', async () => {
  const submission = parseSubmission(createPriceListBody(3));
  const payload = new Payload(submission);
  expect([payload.submission, payload.fingerprint]).toEqual([submission, fingerprint(submission)]);
  const chunks = payload.getChunks();
  expect(payload.getChunks()).toBe(chunks);
  expect(await chunks).toEqual(await compressToChunks(submission));
});

const inflate = (chunks: Buffer[]) => gunzipSync(Buffer.concat(chunks)).toString();

describe('a compressed payload', () => {
  test('is restored byte for byte', () =>
    fc.assert(
      fc.asyncProperty(arbitraryPriceListBody, async (body) => {
        const chunks = await compressToChunks(parseSubmission(body));
        expect(inflate(chunks)).toBe(model(body));
      }),
    ));

  test('is restored with characters of several bytes, wherever its pieces end', async () => {
    const body = createPriceListBody(0);
    for (let i = 0; i < 200; i += 1)
      body.products[`${'€'.repeat(400)}${i}`] = { price_list_price: i, expected_forward_cost_price: 0 };
    const submission = parseSubmission(body);
    const chunks = await compressToChunks(submission);
    const attempt = { payload_chunks: chunks.length, fingerprint: fingerprint(submission) };
    expect(await parseStoredPayload(chunks, attempt)).toEqual({ kind: 'valid', submission });
  });

  test('is cut into chunks that each fit a document, however little it compresses', async () => {
    const body = createPriceListBody(0);
    for (let i = 0; i < 3000; i += 1) {
      body.products[randomBytes(700).toString('hex')] = { price_list_price: i, expected_forward_cost_price: 0 };
    }
    const submission = parseSubmission(body);
    const chunks = await compressToChunks(submission);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
    expect(inflate(chunks)).toBe([...streamCanonicalJson(submission)].join(''));
  });
});

describe('a stored payload', () => {
  const pack = (text: string) => [gzipSync(text)];
  const body = createPriceListBody(3);
  const attempt = { payload_chunks: 1, fingerprint: fingerprint(parseSubmission(body)) };

  test('is valid if it has the fingerprint of its attempt', async () => {
    const submission = parseSubmission(body);
    const chunks = await compressToChunks(submission);
    expect(await parseStoredPayload(chunks, attempt)).toEqual({ kind: 'valid', submission });
    expect(await parseStoredPayload([], attempt)).toMatchObject({ kind: 'invalid', chunks: 0 });
  });

  test.each([
    ['bytes that are not gzip', [Buffer.from('damaged')], 'it is damaged: incorrect header check'],
    ['an incomplete gzip', [pack(model(body))[0]?.subarray(0, -1)], 'it is damaged: unexpected end of file'],
    ['damaged JSON', pack('{"info'), 'it is damaged: not JSON at byte 6'],
    ['another payload', pack(model(createPriceListBody(2))), 'it is not the accepted one: its fingerprint differs'],
    [
      'an invalid product id',
      pack(`{"info":${JSON.stringify(body.info)},"products":{" a":{}}}`),
      'it was accepted by a version with other rules',
    ],
  ])('is invalid with %s', async (_, chunks, reason) => {
    expect(await parseStoredPayload(chunks as Buffer[], attempt)).toEqual({ kind: 'invalid', reason, chunks: 1 });
  });

  test('is not called invalid if a defect of the program prevents its parsing', async () => {
    const defect = jest.spyOn(submissionParser, 'createPriceListParser').mockImplementation(() => {
      throw new TypeError('a defect');
    });
    await expect(parseStoredPayload(pack(model(body)), attempt)).rejects.toThrow('a defect');
    defect.mockRestore();
  });
});
