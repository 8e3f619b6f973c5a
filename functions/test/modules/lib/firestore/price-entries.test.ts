import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { Firestore } from 'firebase-admin/firestore';
import { getConnection } from '../../../../src/lib/firestore/connection';
import { commitPriceEntries, decodeNumber } from '../../../../src/lib/firestore/price-entries';
import { streamDocuments } from '../../../../src/lib/firestore/query';
import { createWorkContext } from '../../../../src/lib/work-context';
import { startFirestore, type EmbeddedFirestore } from '../../../../../packages/firestore-local/src';
import { anyCharacter } from '../../../support/arbitrary-text';
import { useFirestoreEmulator } from '../../../support/firestore';

const PROJECT = 'demo-price-lists';
const COLLECTION = 'price_lists/list-1/products';

let firestore: EmbeddedFirestore;
let sdk: Firestore;

beforeAll(async () => {
  firestore = await startFirestore();
  useFirestoreEmulator(firestore.address, PROJECT);
  sdk = new Firestore({ projectId: PROJECT });
  // Distinguishes stored integers from doubles.
  sdk.settings({ useBigInt: true });
});
afterAll(async () => {
  await sdk.terminate();
  await firestore.close();
});

const set = (numbers: readonly (readonly [id: string, value: number])[]) =>
  commitPriceEntries(
    {
      collection: COLLECTION,
      field: 'price',
      ids: numbers.map(([id]) => id),
      prices: Float64Array.from(numbers, ([, value]) => value),
    },
    10_000,
  );

async function stored(): Promise<Record<string, unknown>> {
  const { docs } = await sdk.collection(COLLECTION).get();
  return Object.fromEntries(docs.map((document) => [document.id, document.data()]));
}

/** Returns what the SDK reads after it has stored a number. */
const asStored = (value: number): number | bigint => (Number.isSafeInteger(value) ? BigInt(value) : value);

const id = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 300 }).filter(
  // Excludes ids that are invalid for a product.
  (text) => text.trim() === text && !text.includes('/') && !/^\.\.?$|^__.*__$/.test(text) && text.isWellFormed(),
);
const value = fc.oneof(
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeNat(),
  fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, 2 ** 53, Number.MAX_VALUE, Number.MIN_VALUE),
);
const entries = fc.uniqueArray(fc.tuple(id, value), { selector: ([id]) => id, minLength: 1, maxLength: 40 });

async function streamPrices(): Promise<[id: string, price: number | undefined][]> {
  const context = createWorkContext(new AbortController().signal);
  const query = { parent: 'price_lists/list-1', collection: 'products', fields: ['price'] };
  const prices: [string, number | undefined][] = [];
  for await (const batch of streamDocuments(context, query, (response) => decodeNumber(response, 'price')))
    prices.push(...batch);
  return prices;
}

test('a batch stores what the SDK stores for any ids and numbers, is streamed unchanged, and replaces documents', async () => {
  await fc.assert(
    fc.asyncProperty(entries, async (numbers) => {
      firestore.clear();
      await set(numbers);
      const expected = numbers.map(([id, value]) => [id, { price: asStored(value) }] as const);
      expect(await stored()).toEqual(Object.fromEntries(expected));
      expect(new Map(await streamPrices())).toEqual(new Map(numbers));
    }),
    { numRuns: 50 },
  );
  const replaced = sdk.doc(`${COLLECTION}/a`);
  await replaced.set({ price: 1, other: 'field' });
  await set([['a', 2]]);
  expect((await replaced.get()).data()).toEqual({ price: 2n });
});

describe('a commit counts only with as many write results as writes:', () => {
  /** A `CommitResponse` with empty write results. */
  const reply = (results: number) => Buffer.from(Array<number[]>(results).fill([0x0a, 0x00]).flat());

  test.each([
    ['an empty reply', reply(0)],
    ['one result too few', reply(1)],
    ['one result too many', reply(3)],
    ['a damaged reply', reply(2).subarray(0, 3)],
    ['no reply', undefined],
  ])('%s is UNKNOWN', async (_, bytes) => {
    const { client } = await getConnection();
    const call = jest.spyOn(client, 'makeUnaryRequest').mockImplementationOnce((...args: unknown[]) => {
      (args.at(-1) as (error: null, value?: Buffer) => void)(null, bytes);
      return undefined as never;
    });
    const committed = set([
      ['a', 1],
      ['b', 2],
    ]);
    await expect(committed).rejects.toMatchObject({ code: status.UNKNOWN });
    call.mockRestore();
  });
});

test('an entry without a number as its price is streamed without a price', async () => {
  firestore.clear();
  const fields = {
    a: { price: -5n, other: 1 },
    b: { price: '1' },
    c: { other: 1 },
    d: { price: null },
    e: { price: -0.5 },
  };
  for (const [id, data] of Object.entries(fields)) await sdk.doc(`${COLLECTION}/${id}`).set(data);
  // Another list has a collection of the same name.
  await sdk.doc('price_lists/list-2/products/a').set({ price: 1 });
  expect(await streamPrices()).toEqual([
    ['a', -5],
    ['b', undefined],
    ['c', undefined],
    ['d', undefined],
    ['e', -0.5],
  ]);
});
