import { AggregateField, FieldPath, Filter, type DocumentData, type Query } from '@google-cloud/firestore';
import fc from 'fast-check';
import { databaseName, rejection, startFirestoreTestServer, type FirestoreTestServer } from './support';

let bench: FirestoreTestServer;
beforeAll(async () => (bench = await startFirestoreTestServer()));
afterAll(() => bench.close());

const INVALID_ARGUMENT = 3;

async function seeded(documents: Record<string, DocumentData>): Promise<ReturnType<FirestoreTestServer['client']>> {
  const db = bench.client();
  const batch = db.batch();
  for (const [path, data] of Object.entries(documents)) batch.set(db.doc(path), data);
  await batch.commit();
  return db;
}

const ids = async (query: Query): Promise<string[]> => (await query.get()).docs.map(({ id }) => id);

describe('a filter', () => {
  // https://firebase.google.com/docs/firestore/query-data/queries
  const data = {
    'c/int': { x: 1 },
    'c/double': { x: 1.5 },
    'c/nan': { x: NaN },
    'c/text': { x: '1' },
    'c/null': { x: null },
    'c/none': { y: 1 },
    'c/list': { x: [1, 2, null] },
    'c/map': { x: { a: 1 } },
    'c/true': { x: true },
  };

  it('compares within one type; != and not-in exclude null and missing fields', async () => {
    const c = (await seeded(data)).collection('c');
    expect(await ids(c.where('x', '==', 1))).toEqual(['int']);
    expect(await ids(c.where('x', '>=', 1))).toEqual(['int', 'double']);
    expect(await ids(c.where('x', '<', 1.5))).toEqual(['int']);
    expect(await ids(c.where('x', '<=', 1.5))).toEqual(['int', 'double']);
    expect(await ids(c.where('x', '>', ''))).toEqual(['text']);
    expect(await ids(c.where('x', '!=', 1))).toEqual(['true', 'nan', 'double', 'text', 'list', 'map']);
    expect(await ids(c.where('x', 'not-in', [1, '1', 7]))).toEqual(['true', 'nan', 'double', 'list', 'map']);
    expect(await ids(c.where('x', 'not-in', [1, null]))).toEqual([]);
    expect(await ids(c.where('x', 'in', ['1', 1, 9]))).toEqual(['int', 'text']);
    expect(await ids(c.where('x', '==', { a: 1 }))).toEqual(['map']);
    expect(await ids(c.where('x', '==', [1, 2, null]))).toEqual(['list']);
  });

  it('finds null and NaN (unary filters)', async () => {
    const c = (await seeded(data)).collection('c');
    expect(await ids(c.where('x', '==', null))).toEqual(['null']);
    expect(await ids(c.where('x', '==', NaN))).toEqual(['nan']);
    expect(await ids(c.where('x', '!=', null))).toEqual(['true', 'nan', 'int', 'double', 'text', 'list', 'map']);
    expect(await ids(c.where('x', '!=', NaN))).toEqual(['true', 'int', 'double', 'text', 'list', 'map']);
  });

  // As the SDKs' own integration tests find it in production (firebase-js-sdk, query.test.ts: 'can use IN filters'…).
  it('finds elements of arrays', async () => {
    const c = (await seeded(data)).collection('c');
    expect(await ids(c.where('x', 'array-contains', 2))).toEqual(['list']);
    expect(await ids(c.where('x', 'array-contains', 3))).toEqual([]);
    expect(await ids(c.where('x', 'array-contains-any', [3, 1]))).toEqual(['list']);
  });

  it('reads nested and quoted fields', async () => {
    const db = await seeded({ 'c/1': { a: { 'b.c': 1 } }, 'c/2': { a: { b: { c: 1 } } } });
    expect(await ids(db.collection('c').where('a.b.c', '==', 1))).toEqual(['2']);
    expect(await ids(db.collection('c').where(new FieldPath('a', 'b.c'), '==', 1))).toEqual(['1']);
  });

  it('combines others by and/or; every branch requires the field of an inequality', async () => {
    const db = await seeded({ 'c/1': { a: 1, b: 1 }, 'c/2': { a: 2 }, 'c/3': { b: 2 }, 'c/4': { a: 3, b: 2 } });
    const c = db.collection('c');
    const either = (...filters: Filter[]): Query => c.where(Filter.or(...filters));
    expect(await ids(either(Filter.where('a', '==', 1), Filter.where('b', '==', 2)))).toEqual(['1', '3', '4']);
    expect(await ids(either(Filter.where('a', '>', 2), Filter.where('b', '==', 2)))).toEqual(['4']);
    expect(
      await ids(
        either(Filter.and(Filter.where('a', '==', 1), Filter.where('b', '==', 1)), Filter.where('a', '==', 2)).limit(1),
      ),
    ).toEqual(['1']);
  });

  it('compares document ids', async () => {
    const db = await seeded({ 'c/a': {}, 'c/b': {}, 'c/c': {}, 'c/b/d/x': {} });
    const c = db.collection('c');
    const id = FieldPath.documentId();
    expect(await ids(c.where(id, '>', 'a'))).toEqual(['b', 'c']);
    expect(await ids(c.where(id, 'in', ['c', 'a', 'z']))).toEqual(['a', 'c']);
    expect(await ids(c.where(id, '==', 'b'))).toEqual(['b']);
    expect(await ids(db.collectionGroup('d').where(id, '==', 'c/b/d/x'))).toEqual(['x']);
  });

  it('expands to at most 30 disjunctions', async () => {
    const c = bench.client().collection('c');
    const values = Array.from({ length: 16 }, (_, i) => i);
    expect(await rejection(c.where('a', 'in', values).where('b', 'in', [1, 2]).get())).toMatchObject({
      code: INVALID_ARGUMENT,
    });
  });
});

describe('an order', () => {
  it('excludes documents without the field, and ends with the name in the last direction', async () => {
    const db = await seeded({ 'c/a': { x: 1 }, 'c/b': { x: 1 }, 'c/c': { x: null }, 'c/d': {}, 'c/e': { x: 'z' } });
    const c = db.collection('c');
    expect(await ids(c.orderBy('x'))).toEqual(['c', 'a', 'b', 'e']);
    expect(await ids(c.orderBy('x', 'desc'))).toEqual(['e', 'b', 'a', 'c']);
    expect(await ids(c.orderBy('x', 'desc').orderBy(FieldPath.documentId(), 'asc'))).toEqual(['e', 'a', 'b', 'c']);
  });

  // https://firebase.google.com/docs/firestore/query-data/multiple-range-fields
  it('continues with the fields of inequalities by name', async () => {
    const db = await seeded({
      'c/1': { a: 2, b: 1 },
      'c/2': { a: 1, b: 2 },
      'c/3': { a: 1, b: 1 },
      'c/4': { a: 0, b: 9 },
    });
    const c = db.collection('c');
    expect(await ids(c.where('b', '>', 0).where('a', '>', 0))).toEqual(['3', '2', '1']);
    expect(await ids(c.where('b', '>', 0).where('a', '>', 0).orderBy('b', 'desc'))).toEqual(['2', '1', '3']);
  });

  it('compares ids by their UTF-8 bytes', async () => {
    const db = await seeded({ 'c/a': {}, 'c/B': {}, 'c/ä': {}, 'c/\uffff': {}, 'c/😀': {}, 'c/10': {}, 'c/9': {} });
    expect(await ids(db.collection('c'))).toEqual(['10', '9', 'B', 'a', 'ä', '\uffff', '😀']);
  });

  it('supports cursors, offsets, limit and limitToLast', async () => {
    const documents = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`c/d${i}`, { x: Math.floor(i / 2) }]));
    const db = await seeded(documents);
    const byX = db.collection('c').orderBy('x');
    expect(await ids(byX.startAt(3))).toEqual(['d6', 'd7', 'd8', 'd9']);
    expect(await ids(byX.startAfter(3))).toEqual(['d8', 'd9']);
    expect(await ids(byX.endBefore(1))).toEqual(['d0', 'd1']);
    expect(await ids(byX.endAt(1).limitToLast(3))).toEqual(['d1', 'd2', 'd3']);
    expect(await ids(byX.offset(8).limit(5))).toEqual(['d8', 'd9']);
    const snapshot = await db.doc('c/d4').get();
    expect(await ids(byX.startAfter(snapshot).limit(2))).toEqual(['d5', 'd6']);
    expect(await ids(db.collection('c').orderBy('x', 'desc').startAt(snapshot).limit(3))).toEqual(['d4', 'd3', 'd2']);
    expect(
      await ids(
        db
          .collection('c')
          .limit(0 + 1)
          .offset(9),
      ),
    ).toEqual(['d9']);
  });
});

describe('a result', () => {
  it('has the selected fields only, nested and quoted ones too', async () => {
    const db = await seeded({ 'c/1': { a: { b: 1, c: 2 }, d: 3, 'e.f': 4 } });
    const [doc] = (await db.collection('c').select('a.b', new FieldPath('e.f')).get()).docs;
    expect(doc?.data()).toEqual({ a: { b: 1 }, 'e.f': 4 });
    const [bare] = (await db.collection('c').select().get()).docs;
    expect(bare?.data()).toEqual({});
    expect(bare?.updateTime).toBeDefined();
  });

  it('of a collection group is in the order of full names', async () => {
    const db = await seeded({ 'b/1/g/2': { x: 1 }, 'a/1/g/9': { x: 2 }, 'g/0': { x: 3 }, 'a/1/h/1': { x: 4 } });
    const paths = (await db.collectionGroup('g').get()).docs.map(({ ref }) => ref.path);
    expect(paths).toEqual(['a/1/g/9', 'b/1/g/2', 'g/0']);
    expect((await db.doc('a/1').collection('g').get()).size).toBe(1);
  });

  it('has a read time even if it is empty', async () => {
    const snapshot = await bench.client().collection('nothing').get();
    expect(snapshot.empty).toBe(true);
    expect(snapshot.readTime.toMillis()).toBeGreaterThan(Date.now() - 5000);
  });
});

describe('an aggregation', () => {
  // https://firebase.google.com/docs/firestore/query-data/aggregation-queries
  it('returns count, sum and average', async () => {
    const db = await seeded({ 'c/1': { n: 1 }, 'c/2': { n: 2.5 }, 'c/3': { n: 'x' }, 'c/4': {}, 'c/5': { n: 3 } });
    const c = db.collection('c');
    expect((await c.count().get()).data().count).toBe(5);
    expect((await c.limit(2).count().get()).data().count).toBe(2);
    const figures = c.aggregate({ sum: AggregateField.sum('n'), average: AggregateField.average('n') });
    expect((await figures.get()).data()).toEqual({ sum: 6.5, average: 6.5 / 3 });
    const none = c
      .where('n', '>', 100)
      .aggregate({ sum: AggregateField.sum('n'), average: AggregateField.average('n') });
    expect((await none.get()).data()).toEqual({ sum: 0, average: null });
  });

  it('is rejected with more than five fields', async () => {
    const c = bench.client().collection('c');
    const aggregate = (count: number): Promise<unknown> => {
      const fields = Array.from({ length: count }, (_, i) => [`count${i}`, AggregateField.count()] as const);
      return c.aggregate(Object.fromEntries(fields)).get();
    };
    await aggregate(5);
    expect(await rejection(aggregate(6))).toMatchObject({
      code: INVALID_ARGUMENT,
      details: 'The maximum number of aggregations allowed in an aggregation query is 5. Received: 6',
    });
  });

  it('over several fields includes only documents with all of them', async () => {
    const db = await seeded({ 'c/1': { a: 1, b: 1 }, 'c/2': { a: 2 }, 'c/3': { b: 4 } });
    const { a, n } = (
      await db
        .collection('c')
        .aggregate({ a: AggregateField.sum('a'), b: AggregateField.average('b'), n: AggregateField.count() })
        .get()
    ).data();
    expect([a, n]).toEqual([1, 1]);
  });
});

describe('a random query', () => {
  const FIELDS = ['a', 'b', 'm.k'] as const;
  const scalar = fc.constantFrom<unknown[]>(null, true, 0, 1, 2, 1.5, 'x', 'y');
  const document = fc.record(
    {
      a: scalar,
      b: fc.oneof(scalar, fc.array(fc.constantFrom(0, 1, 'x'), { maxLength: 2 })),
      m: fc.record({ k: scalar }),
    },
    { requiredKeys: [] },
  );
  const field = fc.constantFrom(...FIELDS);
  const filter = fc.tuple(
    field,
    fc.constantFrom('<', '<=', '==', '!=', '>', '>=', 'array-contains'),
    fc.constantFrom(0, 1, 1.5, 'x', true),
  );
  /** Whether Firestore accepts the filters together. */
  const isAccepted = (filters: readonly (readonly [unknown, string, unknown])[]): boolean =>
    ['!=', 'array-contains'].every((op) => filters.filter((each) => each[1] === op).length <= 1);
  const order = fc.tuple(field, fc.constantFrom('asc', 'desc'));

  /** The types and their order as in values.ts, written down again and by other means. */
  const rank = (value: unknown): number =>
    value === null
      ? 0
      : [['boolean'], ['number'], ['string'], ['object']].findIndex(([type]) => type === typeof value) + 1;
  const compare = (x: unknown, y: unknown): number => {
    if (rank(x) !== rank(y)) return rank(x) - rank(y);
    if (Array.isArray(x) && Array.isArray(y)) {
      const at = x.findIndex((item, i) => i >= y.length || compare(item, y[i]) !== 0);
      return at < 0 ? x.length - y.length : at >= y.length ? 1 : compare(x[at], y[at]);
    }
    return (x as number) < (y as number) ? -1 : (x as number) > (y as number) ? 1 : 0;
  };
  const at = (data: DocumentData, path: string): unknown =>
    path.split('.').reduce<unknown>((value, step) => (value as DocumentData | undefined)?.[step], data);
  const holds = (value: unknown, op: string, operand: unknown): boolean => {
    if (value === undefined) return false;
    if (op === 'array-contains') return Array.isArray(value) && value.some((item) => compare(item, operand) === 0);
    if (op === '==') return compare(value, operand) === 0;
    if (op === '!=') return value !== null && compare(value, operand) !== 0;
    const sign = compare(value, operand);
    return (
      (rank(value) === rank(operand) && (op.startsWith('<') ? sign < 0 : sign > 0 || false)) ||
      (op.endsWith('=') && sign === 0)
    );
  };

  it('returns what a naive model returns, in its order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { maxLength: 12 }),
        fc.array(filter, { maxLength: 3 }).filter(isAccepted),
        fc.uniqueArray(order, { maxLength: 2, selector: ([path]) => path }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 3 }),
        async (documents, filters, orders, limit, offset) => {
          const db = await seeded(
            Object.fromEntries(documents.map((data, i) => [`c/${String.fromCharCode(97 + i)}`, data])),
          );
          let query: Query = db.collection('c');
          for (const [path, op, operand] of filters) query = query.where(path, op as '==', operand);
          for (const [path, direction] of orders) query = query.orderBy(path, direction);
          const inequalities = filters.filter(([, op]) => !['==', 'array-contains'].includes(op)).map(([path]) => path);
          const last = orders.at(-1)?.[1] ?? 'asc';
          const implicit = [...new Set(inequalities)]
            .sort()
            .filter((path) => !orders.some(([known]) => known === path));
          const terms = [...orders, ...implicit.map((path) => [path, last] as const)];
          const expected = documents
            .map((data, i) => ({ id: String.fromCharCode(97 + i), data }))
            .filter(({ data }) => filters.every(([path, op, operand]) => holds(at(data, path), op, operand)))
            .filter(({ data }) => terms.every(([path]) => at(data, path) !== undefined))
            .sort((x, y) => {
              for (const [path, direction] of terms) {
                const sign = compare(at(x.data, path), at(y.data, path)) * (direction === 'desc' ? -1 : 1);
                if (sign !== 0) return sign;
              }
              return (x.id < y.id ? -1 : 1) * (last === 'desc' ? -1 : 1);
            })
            .map(({ id }) => id);
          expect(await ids(query)).toEqual(expected);
          expect(await ids(query.offset(offset).limit(limit))).toEqual(expected.slice(offset, offset + limit));
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('a large collection', () => {
  it('returns the same from an index as from a scan, while it changes', async () => {
    const db = bench.client();
    const put = async (from: number, to: number, team: (i: number) => number): Promise<void> => {
      const batch = db.batch();
      for (let i = from; i < to; i++) batch.set(db.doc(`c/${i}`), { team: team(i), i });
      await batch.commit();
    };
    await put(0, 2000, (i) => i % 7);
    const of3 = db.collection('c').where('team', '==', 3);
    const expected = Array.from({ length: 2000 }, (_, i) => i).filter((i) => i % 7 === 3);
    expect((await of3.get()).docs.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(expected);
    await put(0, 500, () => 3);
    await db.doc('c/3').delete();
    await db.doc('c/2000').set({ team: 3.0, i: 2000 });
    expect((await of3.count().get()).data().count).toBe(500 - 1 + expected.filter((i) => i >= 500).length + 1);
    const range = await of3.where('i', '>=', 490).where('i', '<', 520).orderBy('i', 'desc').get();
    const found = range.docs.map((doc) => doc.get('i') as number);
    expect(found).toEqual(
      [...Array.from({ length: 30 }, (_, i) => 490 + i)].filter((i) => i < 500 || i % 7 === 3).reverse(),
    );
  });

  it('is read as it was when the query began', async () => {
    const db = bench.client();
    const write = async (version: number): Promise<void> => {
      const batch = db.batch();
      for (let i = 0; i < 3000; i++) batch.set(db.doc(`c/${i}`), { version, text: 'x'.repeat(200) });
      await batch.commit();
    };
    await write(1);
    const seen = new Set<number>();
    let writing: Promise<void> | undefined;
    for await (const doc of db.collection('c').stream() as AsyncIterable<FirebaseFirestore.QueryDocumentSnapshot>) {
      writing ??= write(2);
      seen.add(doc.get('version') as number);
    }
    await writing;
    expect([...seen]).toEqual([1]);
  });

  it('cannot be the parent of a listing', async () => {
    const raw = bench.raw();
    const parent = `${databaseName(bench.client())}/documents/odd`;
    expect(await rejection(raw.listCollectionIds({ parent }))).toMatchObject({ code: INVALID_ARGUMENT });
  });
});
