import { collections } from '../../../functions/src/lib/firestore/collections';
import { VIEWER_SETTINGS } from '../data-pages';

test('the data pages describe each collection of the service', () => {
  expect(Object.keys(VIEWER_SETTINGS.descriptions).sort()).toEqual(Object.values(collections).sort());
});
