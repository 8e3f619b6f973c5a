import { createHash, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { PriceListInfo, PriceListSubmission } from '../../../src/lib/schemas/add-price-lists';
import * as schemas from '../../../src/lib/schemas/add-price-lists';
import { compressToChunks, computeFingerprint, readStoredPayload } from '../../../src/price-lists/payload';
import { arbitraryPriceListBody } from '../../../../test/harness/arbitrary-submissions';
import { useTestDatabase } from '../../../../test/harness/database';
import { writeRecords } from '../../../../test/harness/stored';
import { createPriceListBody, parseSubmission, type PriceListBody } from '../../../../test/harness/submissions';

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

const CHUNK_BYTES = 1_000_000;

/** Creates a submission whose ids have 1,400 characters each, which gzip compresses only to 1,050 bytes. */
function createRandomSubmission(count: number): PriceListSubmission {
  const prices = { price_list_price: 1, expected_forward_cost_price: 0.5 };
  const ids = Array.from({ length: count }, () => randomBytes(1_050).toString('base64url'));
  const { info } = parseSubmission(createPriceListBody(1));
  return { info, products: { ids, prices: new Map(ids.map((id) => [id, prices])) } };
}

describe('the fingerprint', () => {
  test('is the SHA-256 of the canonical JSON', () =>
    fc.assert(
      fc.property(arbitraryPriceListBody, (body) => {
        expect(computeFingerprint(parseSubmission(body))).toBe(sha256(model(body)));
      }),
    ));

  test('covers every product of a list that is hashed in several parts', () => {
    const body = createPriceListBody(4_000);
    expect(computeFingerprint(parseSubmission(body))).toBe(sha256(model(body)));
  });

  test('of a submission is the same in every version of the program', () => {
    const body = createPriceListBody(1, { name: 'Größe "A"' });
    const text =
      '{"info":{"boq_list_id":"boq-1","currency_iso":"USD","date":"06/2026","market_id":"market-1","name":"Größe \\"A\\""},' +
      '"products":{"product-0":{"expected_forward_cost_price":0,"price_list_price":0.25}}}';
    expect(computeFingerprint(parseSubmission(body))).toBe(sha256(text));
  });
});

describe('a compressed payload', () => {
  const inflate = (chunks: Buffer[]) => gunzipSync(Buffer.concat(chunks)).toString();

  test('inflates to the canonical JSON, byte for byte', () =>
    fc.assert(
      fc.asyncProperty(arbitraryPriceListBody, async (body) => {
        expect(inflate(await compressToChunks(parseSubmission(body), CHUNK_BYTES))).toBe(model(body));
      }),
    ));

  test('keeps characters of several bytes whole, wherever its parts end', async () => {
    const body = createPriceListBody(0);
    for (let i = 0; i < 200; i += 1)
      body.products[`${'€'.repeat(400)}${i}`] = { price_list_price: i, expected_forward_cost_price: 0 };
    expect(inflate(await compressToChunks(parseSubmission(body), CHUNK_BYTES))).toBe(model(body));
  });

  test('of almost 9 MiB is accepted, and one of more than 9 MiB is rejected', async () => {
    const chunks = await compressToChunks(createRandomSubmission(8_850), CHUNK_BYTES);
    expect(chunks.map(({ length }) => length).slice(0, -1)).toEqual(Array(9).fill(CHUNK_BYTES));
    await expect(compressToChunks(createRandomSubmission(9_000), CHUNK_BYTES)).rejects.toMatchObject({
      code: 'payload_too_large',
      headers: { 'X-Payload-Limit-Bytes': '9437184', 'X-Payload-Limit-Scope': 'compressed' },
    });
  });
});

describe('a stored payload', () => {
  const database = useTestDatabase();
  beforeEach(() => database.reset());
  afterEach(() => jest.restoreAllMocks());

  const body = createPriceListBody(3);
  const submission = parseSubmission(body);
  const fingerprint = computeFingerprint(submission);
  const packed = gzipSync(model(body));

  /** Stores chunks by their ids, and reads the payload. */
  async function store(chunks: Record<string, unknown>) {
    const records = Object.entries(chunks).map(([id, data]) => [id, { data }]);
    const collection = 'price_list_requests/document/price_list_payload';
    await writeRecords(database.client, collection, Object.fromEntries(records) as Record<string, object>);
    return readStoredPayload(database.open().db, { document_id: 'document', fingerprint });
  }

  test('is read as the accepted submission, in the order of its twelve chunks', async () => {
    const bytes = Array.from({ length: 12 }, (_, i) => packed.subarray(i * 10, i === 11 ? undefined : i * 10 + 10));
    const chunks = bytes.map((data, i) => [String(i).padStart(4, '0'), data]);
    expect(await store(Object.fromEntries(chunks) as Record<string, Buffer>)).toEqual({
      ...submission,
      chunkCount: 12,
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['without chunks', {}, 'payload chunks are missing'],
    ['without its first chunk', { '0001': packed }, 'payload chunks are missing'],
    [
      'without a chunk in the middle',
      { '0000': packed.subarray(0, 9), '0002': packed.subarray(9) },
      'payload chunks are missing',
    ],
    ['without its last chunk', { '0000': packed.subarray(0, 30) }, 'the end of the payload is missing'],
    ['with a chunk of text', { '0000': packed.subarray(0, 30), '0001': 'text' }, 'the end of the payload is missing'],
    ['of bytes that are not gzip', { '0000': Buffer.from('damaged') }, 'the payload is damaged (Z_DATA_ERROR)'],
    [
      'that inflates to more than 32 MiB',
      { '0000': gzipSync(Buffer.alloc(32 * 1024 * 1024 + 1)) },
      'the payload inflates to more bytes than an accepted one can have',
    ],
    [
      'of another request',
      { '0000': gzipSync(model(createPriceListBody(2))) },
      'the payload is not the accepted one, because its fingerprint differs',
    ],
  ])('%s is unusable, and the error says why', async (_, chunks, message) => {
    await expect(store(chunks)).rejects.toMatchObject({ name: 'UnusablePayloadError', message });
  });

  test('that the rules of this version reject is unusable', async () => {
    const text = `{"info":${JSON.stringify(submission.info)},"products":{" a":{}}}`;
    const chunk = { data: gzipSync(text) };
    await database.client.doc('price_list_requests/document/price_list_payload/0000').set(chunk);
    const attempt = { document_id: 'document', fingerprint: sha256(text) };
    const message = 'the payload was accepted by a version with other rules';
    await expect(readStoredPayload(database.open().db, attempt)).rejects.toMatchObject({
      name: 'UnusablePayloadError',
      message,
    });
  });

  test.each(['UNAVAILABLE', 'PERMISSION_DENIED'] as const)(
    'is not called unusable if Firestore returns %s',
    async (code) => {
      database.firestore.faults.inject({ rpc: 'RunQuery', action: { kind: 'error', code } });
      await expect(store({ '0000': packed })).rejects.toMatchObject({
        name: 'Error',
        message: expect.stringContaining(code) as string,
      });
    },
  );

  test('is not called unusable if a defect of the program prevents its parsing', async () => {
    jest.spyOn(schemas, 'parsePriceLists').mockImplementation(() => {
      throw new TypeError('a defect');
    });
    await expect(store({ '0000': packed })).rejects.toThrow(TypeError);
  });
});
