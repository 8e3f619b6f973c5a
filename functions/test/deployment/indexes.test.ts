import { Indexes, type MapValue } from '../../../emulator/src';
import { WRITE_SIZES } from '../../src/lib/work-context';
import { getResponse, useCreations } from '../../../test/harness/creations';
import { readDeclaredIndexes } from '../../../test/harness/firestore';
import { createPriceListBody } from '../../../test/harness/submissions';

/** Tests the exemptions of firestore.indexes.json. Other suites would fail if a query needed an exempted index. */

const { database, create } = useCreations();

test('exemptions save about 4 index entries for each product: a creation of 1,203 products costs 49 instead of 4,953', async () => {
  const declared = readDeclaredIndexes();
  const indexes = [new Indexes(declared), new Indexes({ ...declared, fieldOverrides: [] })];
  const counts = indexes.map(() => 0);
  database.firestore.observeCommits((changes) => {
    for (const { name, before, after } of changes) {
      const group = name.split('/').at(-2) ?? '';
      const count = (each: Indexes, fields?: MapValue) => (fields ? each.countEntries(group, fields) : 0);
      indexes.forEach((each, i) => (counts[i] = (counts[i] ?? 0) + count(each, after) - count(each, before)));
    }
  });
  getResponse(await create(createPriceListBody(1_203), { sizes: WRITE_SIZES }));
  expect(counts).toEqual([49, 4953]);
});

describe('the exemptions of fields', () => {
  const { fieldOverrides = [] } = readDeclaredIndexes();

  test.each(['price_list_idempotency', 'price_list_requests', 'price_list_payload'])(
    'cover a field that a later version adds to %s',
    (group) => {
      const fields: MapValue = new Map([['later', 'text']]);
      expect(new Indexes(readDeclaredIndexes()).countEntries(group, fields)).toBe(0);
    },
  );

  // Another application of the database can have a collection `products`, and may query all of its fields.
  test('of collections named products cover only the two prices', () => {
    const ofProducts = fieldOverrides.filter(({ collectionGroup }) => collectionGroup === 'products');
    const paths = ofProducts.map(({ fieldPath }) => fieldPath);
    expect(paths).toEqual(['price_list_price', 'expected_forward_cost_price']);
  });

  // Google rejects a time to live for all fields. Without `ttl`, firebase-tools changes only the indexes (update mask `indexConfig`).
  test('for all fields of a collection have no time to live', () => {
    expect(fieldOverrides.filter((override) => override.fieldPath === '*' && 'ttl' in override)).toEqual([]);
  });
});
