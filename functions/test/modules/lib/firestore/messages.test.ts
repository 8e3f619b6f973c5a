import protobuf from 'protobufjs';
import descriptors from '@google-cloud/firestore-api/protos/protos.json';
import { decodeDocument } from '../../../../src/lib/firestore/messages';

/** Tests the decoding of documents that protobufjs encodes by the descriptors of the Firestore SDK. */

const PREFIX = 'projects/demo-price-lists/databases/(default)/documents/orders/';

const response = protobuf.Root.fromJSON(descriptors).lookupType('google.firestore.v1.RunQueryResponse');

const encodeResponse = (fields: object) => {
  const readTime = { seconds: 1_780_000_000, nanos: 123_456_000 };
  return Buffer.from(response.encode({ document: { name: `${PREFIX}é 1`, fields }, readTime }).finish());
};

const text = (stringValue: string) => ({ stringValue });
const map = (fields: object) => ({ mapValue: { fields } });
const array = (...values: object[]) => ({ arrayValue: { values } });

describe('a decoded document', () => {
  test('has the strings, arrays and maps of the encoded document', () => {
    const name = map({
      constructor: text('𝄞'),
      toString: map({}),
      'a.b': array(),
      0: array(text('a'), array(map({}))),
    });
    const message = encodeResponse({ empty: text(''), list: array(name, text('last')), name });
    const decoded = { constructor: '𝄞', toString: {}, 'a.b': [], 0: ['a', [{}]] };
    expect(decodeDocument(message)).toEqual({
      id: 'é 1',
      fields: { empty: '', list: [decoded, 'last'], name: decoded },
    });
  });

  test.each<object>([
    { nullValue: 0 },
    { booleanValue: true },
    { integerValue: '-9223372036854775808' },
    { doubleValue: 0.5 },
    { timestampValue: { seconds: 1, nanos: 2 } },
    { bytesValue: Buffer.from([1, 2]) },
    { referenceValue: `${PREFIX}a` },
    { geoPointValue: { latitude: 1, longitude: 2 } },
    {},
  ])('has undefined for %j', (other) => {
    const message = encodeResponse({ other, list: array(other, text('b')) });
    expect(decodeDocument(message)?.fields).toEqual({ other: undefined, list: [undefined, 'b'] });
  });

  test('has no field __proto__, and no other prototype because of it', () => {
    const message = encodeResponse({ a: text('b'), __pr0to__: map({ c: text('d') }) });
    // The field is renamed in the bytes, because an object literal with the name __proto__ would set the prototype.
    const renamed = Buffer.from(message.toString('latin1').replaceAll('__pr0to__', '__proto__'), 'latin1');
    const { fields = {} } = decodeDocument(renamed) ?? {};
    expect([Object.keys(fields), fields['c']]).toEqual([['a'], undefined]);
  });
});
