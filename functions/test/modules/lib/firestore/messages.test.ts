import fc from 'fast-check';
import protobuf from 'protobufjs';
import descriptors from '@google-cloud/firestore-api/protos/protos.json';
import { decodeDocument } from '../../../../src/lib/firestore/messages';

/** Decodes documents that protobufjs encodes by the descriptors of the Firestore SDK. */

const PREFIX = 'projects/demo-price-lists/databases/(default)/documents/orders/';

const response = protobuf.Root.fromJSON(descriptors).lookupType('google.firestore.v1.RunQueryResponse');

const encodeResponse = (document: object) =>
  Buffer.from(response.encode({ document, readTime: { seconds: 1_780_000_000, nanos: 123_456_000 } }).finish());

/** A value to encode, and the value that the service must decode. */
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
