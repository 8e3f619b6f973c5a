import fc from 'fast-check';
import { GeoPoint, Timestamp, type Firestore } from 'firebase-admin/firestore';
import { anyCharacter } from './arbitrary-text';

/** Stored records as another program may have written them, and a second implementation of how values are read. */

/** A value of any type that Firestore stores. */
export const arbitraryStoredValue = (db: Firestore): fc.Arbitrary<unknown> =>
  fc.letrec<{ value: unknown; scalar: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      { weight: 4, arbitrary: tie('scalar') },
      { weight: 1, arbitrary: fc.array(tie('scalar'), { maxLength: 3 }) },
      { weight: 1, arbitrary: fc.dictionary(fieldName, tie('value'), { maxKeys: 3, noNullPrototype: true }) },
    ),
    scalar: fc.oneof(
      plausible,
      fc.constantFrom<unknown>(null, true, false, NaN, Infinity, -Infinity, -0, '', ' ', '\u00a0'),
      fc.maxSafeInteger(),
      fc.double(),
      fc.string({ unit: anyCharacter, maxLength: 8 }),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
      fc
        .date({ noInvalidDate: true, min: new Date(-1e13), max: new Date(1e14) })
        .map((date) => Timestamp.fromDate(date)),
      fc.constantFrom<unknown>(new GeoPoint(1, -2), db.doc('teams/team-1')),
    ),
  })).value;

/** A stored value of a field that the service reads. */
const plausible = fc.constantFrom('usa', ' deu ', 'EGY', 'Cairo', 'ß', 'https://example.com/1.pdf');

const fieldName = fc.oneof(
  fc.constantFrom('en', 'name', 'url', 'customer_id', 'customer_name', 'constructor', 'toString', 'length', '0'),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 4 }).filter((name) => !/^__.*__$/s.test(name)),
);

/** A record whose fields are each there or not, and of any type; `fixed` ones are as given. */
export function arbitraryStoredRecord(
  db: Firestore,
  names: readonly string[],
  fixed: object = {},
): fc.Arbitrary<object> {
  const field = arbitraryStoredValue(db);
  const fields = fc.record(Object.fromEntries(names.map((name) => [name, field])), { requiredKeys: [] });
  return fields.map((record) => ({ ...record, ...fixed }));
}

/** Ids that are error-prone in JSON, paths or objects; no `__…__`, which Firestore rejects. */
export const edgeCaseIds = [
  'constructor',
  'toString',
  'hasOwnProperty',
  '__proto',
  '0',
  '10',
  '9',
  '-1',
  'ÅÄÖ',
  'مخزن',
  '𝄞',
  'a "quoted" \\ id',
  'line\nbreak',
  ' ',
  '.a',
  'x'.repeat(1500),
];

/** Records under ids that tell them apart. */
export const withSequentialIds = <T>(records: readonly T[]): Record<string, T> =>
  Object.fromEntries(records.map((record, i) => [`id-${i}`, record]));

/** Stores records under ids, each as it is. */
export async function writeRecords(db: Firestore, collection: string, records: Record<string, object>): Promise<void> {
  const entries = Object.entries(records);
  for (let start = 0; start < entries.length; start += 500) {
    const batch = db.batch();
    for (const [id, record] of entries.slice(start, start + 500)) batch.set(db.collection(collection).doc(id), record);
    await batch.commit();
  }
}

/** A stored value as the contract shows a text. */
export const toExpectedText = (value: unknown): string | null =>
  typeof value === 'string' && value.length > 0 ? value : null;

/** What a value holds under a name, if it is a map. */
export function getField(value: unknown, name: string): unknown {
  // A plain object of whichever realm: fast-check makes its own outside that of the test file.
  const prototype: unknown = value !== null && typeof value === 'object' ? Object.getPrototypeOf(value) : undefined;
  const isMap = typeof prototype === 'object' && prototype !== null && Object.getPrototypeOf(prototype) === null;
  return isMap && Object.hasOwn(value as object, name) ? (value as Record<string, unknown>)[name] : undefined;
}
