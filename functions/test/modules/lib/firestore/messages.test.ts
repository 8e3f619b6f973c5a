import fc from 'fast-check';
import protobuf from 'protobufjs';
import descriptors from '@google-cloud/firestore-api/protos/protos.json';
import { decodeDocument, encodeRunQueryRequest } from '../../../../src/lib/firestore/messages';

/** The messages of queries, encoded and decoded with the descriptors in the Firestore SDK. */

const PARENT = 'projects/demo-price-lists/databases/(default)/documents';
const PREFIX = `${PARENT}/orders/`;

const google = protobuf.Root.fromJSON(descriptors).lookup('google.firestore.v1');
if (!(google instanceof protobuf.Namespace)) throw new Error('The SDK ships no google.firestore.v1.');
const response = google.lookupType('RunQueryResponse');

const encodeResponse = (document: object) =>
  Buffer.from(response.encode({ document, readTime: { seconds: 1_780_000_000, nanos: 123_456_000 } }).finish());

/** A value as the SDK encodes it, and as the service decodes it. */
const value: fc.Memo<[encoded: object, decoded: unknown]> = fc.memo((depth) => {
  const leaf = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text): [object, unknown] => [{ stringValue: text }, text]),
    fc
      .constantFrom<object>(
        { nullValue: 0 },
        { booleanValue: true },
        { integerValue: '-9223372036854775808' },
        { doubleValue: 0.5 },
        { timestampValue: { seconds: 1, nanos: 2 } },
        { bytesValue: Buffer.from([1, 2]) },
        { referenceValue: `${PREFIX}a` },
        { geoPointValue: { latitude: 1, longitude: 2 } },
        {},
      )
      .map((other): [object, unknown] => [other, undefined]),
  );
  if (depth <= 1) return leaf;
  const array = fc
    .array(value(depth - 1), { maxLength: 4 })
    .map((items): [object, unknown] => [
      { arrayValue: { values: items.map(([encoded]) => encoded) } },
      items.map(([, decoded]) => decoded),
    ]);
  return fc.oneof(
    leaf,
    array,
    fields(depth - 1).map(([encoded, decoded]): [object, unknown] => [{ mapValue: { fields: encoded } }, decoded]),
  );
});

const fieldName = fc.oneof(fc.string(), fc.constantFrom('constructor', 'toString', 'a.b', '0'));

const fields = (depth: number) =>
  fc
    .dictionary(fieldName, value(depth), { maxKeys: 4, noNullPrototype: true })
    .map((all): [Record<string, object>, Record<string, unknown>] => {
      const entries = Object.entries(all).filter(([name]) => name !== '__proto__');
      return [
        Object.fromEntries(entries.map(([name, [encoded]]) => [name, encoded])),
        Object.fromEntries(entries.map(([name, [, decoded]]) => [name, decoded])),
      ];
    });

/** No id has a slash. */
const documentId = fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => !id.includes('/'));

describe('a decoded document', () => {
  test('has the strings, arrays and maps of the encoded one, and undefined for other values', () => {
    fc.assert(
      fc.property(fields(4), documentId, ([encoded, decoded], id) => {
        const message = encodeResponse({ name: PREFIX + id, fields: encoded });
        expect(decodeDocument(message)).toEqual({ id, fields: decoded });
      }),
    );
  });

  test('has no field __proto__, and no other prototype because of it', () => {
    const map = {
      fields: { a: { stringValue: 'b' }, __pr0to__: { mapValue: { fields: { c: { stringValue: 'd' } } } } },
    };
    const message = encodeResponse({ name: `${PREFIX}1`, fields: { ...map.fields, m: { mapValue: map } } });
    // Renamed in the bytes, because an object literal with that name would set the prototype.
    const renamed = Buffer.from(message.toString('latin1').replaceAll('__pr0to__', '__proto__'), 'latin1');
    const { fields = {} } = decodeDocument(renamed) ?? {};
    expect(Object.keys(fields)).toEqual(['a', 'm']);
    expect(fields).toEqual({ a: 'b', m: { a: 'b' } });
    expect([fields['c'], (fields['m'] as Record<string, unknown>)['c']]).toEqual([undefined, undefined]);
  });
});

describe('an encoded request', () => {
  // `toObject` would not recognise String and Number as options, because Jest loads protobufjs outside the test's realm.
  const decode = (message: Buffer): unknown => google.lookupType('RunQueryRequest').decode(message).toJSON();

  test('is decoded by the descriptors to its query', () => {
    const query = {
      collection: 'orders',
      where: [
        ['team_id', '==', 'Ⅷ'],
        ['created_at', '>=', -8_640_000_000_000_000],
        ['created_at', '<', Number.MAX_SAFE_INTEGER],
      ],
      orderBy: ['created_at'],
      fields: ['customer_data.customer_id'],
    } as const;
    const filter = (path: string, op: string, operand: object) => ({
      fieldFilter: { field: { fieldPath: path }, op, value: operand },
    });
    expect(decode(encodeRunQueryRequest(PARENT, query))).toEqual({
      parent: PARENT,
      structuredQuery: {
        select: { fields: [{ fieldPath: 'customer_data.customer_id' }, { fieldPath: 'created_at' }] },
        from: [{ collectionId: 'orders' }],
        where: {
          compositeFilter: {
            op: 'AND',
            filters: [
              filter('team_id', 'EQUAL', { stringValue: 'Ⅷ' }),
              filter('created_at', 'GREATER_THAN_OR_EQUAL', { integerValue: '-8640000000000000' }),
              filter('created_at', 'LESS_THAN', { integerValue: '9007199254740991' }),
            ],
          },
        },
        orderBy: [
          { field: { fieldPath: 'created_at' }, direction: 'ASCENDING' },
          { field: { fieldPath: '__name__' }, direction: 'ASCENDING' },
        ],
      },
    });
  });
});
