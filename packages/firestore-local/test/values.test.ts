import fc from 'fast-check';
import { createFieldReader, decodeFields, encodeFields } from '../src/protocol/codec';
import { RPCS, decodeRequest } from '../src/protocol/decode-request';
import { compareFieldPaths, formatFieldPath, parseFieldPath } from '../src/protocol/paths';
import {
  GeoPoint,
  Reference,
  Timestamp,
  compareIds,
  compareNames,
  compareStrings,
  compareValues,
  equalValues,
  toEqualityKey,
  getFieldsSize,
  getNameSize,
  type MapValue,
  type Value,
} from '../src/protocol/values';

const name = fc
  .array(fc.stringMatching(/^[a-z!.]{1,3}$/), { minLength: 2, maxLength: 2 })
  .map(([a = '', b = '']) => `projects/p/databases/d/documents/${a}/${b}`);

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.constantFrom('', 'a', 'ab', '\uffff', '😀', 'é'));

const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.bigInt(-3n, 3n),
  fc.double(),
  fc.constantFrom(NaN, -0, 1, 2.5, Infinity, 2 ** 53),
  text,
  fc.uint8Array({ maxLength: 4 }),
  name.map((path) => new Reference(path)),
  fc
    .tuple(fc.integer({ min: -62135596800, max: 253402300799 }), fc.integer({ min: 0, max: 999999 }))
    .map(([seconds, micros]) => new Timestamp(seconds, micros * 1000)),
  fc.tuple(fc.integer({ min: -90, max: 90 }), fc.integer({ min: -180, max: 180 })).map(([a, b]) => new GeoPoint(a, b)),
);

const { value, map } = fc.letrec<{ value: Value; map: MapValue }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, fc.array(tie('value'), { maxLength: 3 }), tie('map')),
  map: fc.array(fc.tuple(text, tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
}));

const sign = (order: number): number => Math.sign(order);

describe('values', () => {
  // https://firebase.google.com/docs/firestore/manage-data/data-types: "Value type ordering"
  it('have the documented order of types', () => {
    const ordered: Value[] = [
      null,
      false,
      true,
      NaN,
      -Infinity,
      -1n,
      -0.5,
      0n,
      0.5,
      1,
      2n,
      new Timestamp(1, 0),
      '',
      'a',
      'á',
      '\uffff',
      '😀',
      new Uint8Array([1]),
      new Uint8Array([1, 0]),
      new Reference('projects/p/databases/d/documents/a/b'),
      new Reference('projects/p/databases/d/documents/a/b/c/d'),
      new Reference('projects/p/databases/d/documents/a!/b'),
      new GeoPoint(1, 2),
      [],
      [1],
      [1, null],
      [2],
      new Map(),
      new Map([['a', 1]]),
      new Map([
        ['b', 1],
        ['a', 1],
      ]),
      new Map([['b', 0]]),
    ];
    expect([...ordered].reverse().sort(compareValues)).toEqual(ordered);
  });

  it('compare integers with doubles exactly', () => {
    expect(equalValues(1n, 1)).toBe(true);
    expect(equalValues(-0, 0n)).toBe(true);
    expect(equalValues(NaN, NaN)).toBe(true);
    expect(compareValues(2n ** 53n + 1n, 2 ** 53)).toBeGreaterThan(0);
  });

  it('have a total order', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        expect(compareValues(a, a)).toBe(0);
        expect(sign(compareValues(a, b))).toBe(-sign(compareValues(b, a)) + 0);
        if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) expect(compareValues(a, c)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });

  it('order strings by their UTF-8 bytes, and names id by id', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(sign(compareStrings(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
    fc.assert(
      fc.property(name, name, (a, b) => {
        const left = a.split('/');
        const right = b.split('/');
        const model = left.map((id, i) => compareStrings(id, right[i] ?? '')).find((order) => order !== 0) ?? 0;
        expect(sign(compareNames(a, b))).toBe(sign(model));
      }),
    );
  });

  it('order numeric ids by number, before all others', () => {
    const ordered = [
      '__id-12__',
      '__id-2__',
      '__id7__',
      '__id10__',
      '',
      '10',
      '9',
      '__id07__',
      '__id0__',
      '__idx__',
      'a',
    ];
    expect([...ordered].reverse().sort(compareIds)).toEqual(ordered);
    const names = ordered.map((id) => `projects/p/databases/d/documents/a/${id}`);
    expect([...names].reverse().sort(compareNames)).toEqual(names);
  });

  it('have the same equality key exactly if they are equal scalars', () => {
    fc.assert(
      fc.property(scalar, scalar, (a, b) => {
        const [left, right] = [toEqualityKey(a), toEqualityKey(b)];
        if (left !== undefined && right !== undefined) expect(left === right).toBe(equalValues(a, b));
      }),
      { numRuns: 1000 },
    );
  });

  // https://firebase.google.com/docs/firestore/storage-size: the two examples of the page
  it('have the documented sizes', () => {
    expect(getNameSize('projects/p/databases/d/documents/users/jeff/tasks/my_task_id')).toBe(44);
    const fields: MapValue = new Map<string, Value>([
      ['type', 'Personal'],
      ['done', false],
      ['priority', 1n],
      ['description', 'Learn Cloud Firestore'],
    ]);
    expect(44 + getFieldsSize(fields) + 32).toBe(147);
  });

  // SMALL_DOCUMENT_BYTES of write-rules.ts relies on it.
  it('are stored in at most eight times their bytes', () => {
    fc.assert(
      fc.property(map, (fields) => {
        expect(getFieldsSize(fields)).toBeLessThanOrEqual(8 * encodeFields(fields).length);
      }),
      { numRuns: 500 },
    );
  });
});

describe('stored fields', () => {
  it('are read as they were written, all or one at a time', () => {
    fc.assert(
      fc.property(map, (original) => {
        const bytes = encodeFields(original);
        expect(decodeFields(bytes)).toEqual(original);
        for (const [key, field] of original) {
          expect(createFieldReader([key])(bytes)).toEqual(field);
          if (!(field instanceof Map)) continue;
          for (const [inner, deep] of field) expect(createFieldReader([key, inner])(bytes)).toEqual(deep);
        }
        expect(createFieldReader(['no such field'])(bytes)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('have the same bytes in every order of their keys', () => {
    fc.assert(
      fc.property(map, (original) => {
        const reversed = new Map([...original].reverse());
        expect(encodeFields(reversed).equals(encodeFields(original))).toBe(true);
      }),
    );
  });

  it('keep keys that JavaScript objects treat specially', () => {
    const original: MapValue = new Map<string, Value>([
      ['10', 1n],
      ['9', new Map<string, Value>([['__proto__', 'x']])],
      ['__proto__', new Map<string, Value>([['01', null]])],
      ['constructor', true],
      ['', ''],
    ]);
    expect(decodeFields(encodeFields(original))).toEqual(original);
    expect(createFieldReader(['9', '__proto__'])(encodeFields(original))).toBe('x');
    expect([...original.keys()].map((key) => createFieldReader([key])(encodeFields(original)))).toEqual([
      ...original.values(),
    ]);
  });
});

describe('requests', () => {
  it('that are not valid messages are rejected with INVALID_ARGUMENT', () => {
    const rpcs = fc.constantFrom(...RPCS);
    fc.assert(
      fc.property(rpcs, fc.uint8Array({ maxLength: 20 }), (rpc, bytes) => {
        try {
          decodeRequest(rpc, Buffer.from(bytes));
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
        }
      }),
      { numRuns: 500 },
    );
    // A write with a document whose length exceeds the message.
    expect(() => decodeRequest('Commit', Buffer.from([0x12, 4, 0x0a, 9, 1, 1]))).toThrow('Malformed Commit request');
  });
});

describe('field paths', () => {
  it('are parsed from what was formatted', () => {
    const step = fc.oneof(
      fc.string({ minLength: 1, maxLength: 5 }),
      fc.constantFrom('a.b', 'a`b', '\\', 'é', 'plain_1'),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (path) => {
        expect(parseFieldPath(formatFieldPath(path))).toEqual(path);
        expect(compareFieldPaths(path, path)).toBe(0);
      }),
    );
  });

  it.each(['', '.', 'a.', '.a', 'a..b', '1a', '`a', 'a`', '``', 'a-b'])('reject %j', (path) => {
    expect(() => parseFieldPath(path)).toThrow('Invalid property path');
  });
});
