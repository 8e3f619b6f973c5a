import fc from 'fast-check';
import { createFieldReader, decodeFields, encodeFields } from '../src/protocol/codec';
import { formatFieldPath, parseFieldPath } from '../src/protocol/paths';
import {
  Reference,
  Timestamp,
  compareValues,
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
);

const { map } = fc.letrec<{ value: Value; map: MapValue }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, fc.array(tie('value'), { maxLength: 3 }), tie('map')),
  map: fc.array(fc.tuple(text, tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
}));

describe('values', () => {
  it('compare maps by their keys in order, whatever the order that they come in', () => {
    const entries: [string, Value][] = [
      ['a', 1],
      ['b', 1],
    ];
    const [map, reversed] = [new Map(entries), new Map(entries.toReversed())];
    expect([compareValues(map, reversed), compareValues(reversed, map)]).toEqual([0, 0]);
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
    expect(getFieldsSize(new Map([['m', fields]]))).toBe(2 + 32 + getFieldsSize(fields));
  });

  // SMALL_DOCUMENT_BYTES of write-rules.ts relies on this bound.
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
          const shorter = key.slice(0, -1);
          expect(createFieldReader([shorter])(bytes)).toEqual(original.get(shorter));
          if (!(field instanceof Map)) continue;
          for (const [inner, deep] of field) expect(createFieldReader([key, inner])(bytes)).toEqual(deep);
        }
        expect(createFieldReader(['no such field'])(bytes)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
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
      }),
    );
  });
});
