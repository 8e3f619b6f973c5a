import { fieldOverrides, indexes } from '../../../firestore.indexes.json';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { SAMPLE_COLLECTIONS } from '../../sample/records';
import type { CollectionView } from './data-source';

/** What the data pages know of the collections of the service. */

/** The contents of each collection. The overview lists these collections first, in this order. */
export const DESCRIPTIONS: Readonly<Record<(typeof collections)[keyof typeof collections], string>> = {
  ...SAMPLE_COLLECTIONS,
  price_list_requests: 'Accepted requests, with the status of their price lists',
  price_lists: 'Price lists: status, and an entry per product',
  expected_forward_costs: 'Expected forward costs: status, and an entry per product',
  price_list_idempotency: 'Key records: one per boq_list_id, with its attempts',
};

/** The collections whose documents are shown newest first. */
const NEWEST_FIRST: readonly string[] = [
  collections.priceListRequests,
  collections.priceLists,
  collections.expectedForwardCosts,
];

/** Adds the order of a collection to a view without one. */
export function addDefaultSort(collection: string, view: CollectionView): CollectionView {
  const sort = { field: 'created_at', direction: 'desc' } as const;
  const isDefault = view.sort === undefined && NEWEST_FIRST.includes(collection);
  return isDefault && isServed(collection, view.filter?.field, sort) ? { ...view, sort } : view;
}

/** The fields that come first in a table. */
export const FIRST_COLUMNS = ['status', 'name', 'boq_list_id'];

/** Returns the collection whose document a field such as `team_id` names, if the field names one. */
export function getLinkedCollection(field: string): string | undefined {
  if (field === 'document_id') return 'price_list_requests';
  return field.endsWith('_id') ? field.replace(/_id$/, 's') : undefined;
}

/** Whether an index serves an order, within a filter if there is one, as firestore.indexes.json declares and exempts them. */
export function isServed(
  collectionGroup: string,
  filter: string | undefined,
  sort: NonNullable<CollectionView['sort']>,
): boolean {
  if (filter === undefined)
    return !fieldOverrides.some(
      (each) => each.collectionGroup === collectionGroup && `${sort.field}.`.startsWith(`${each.fieldPath}.`),
    );
  const order = sort.direction === 'asc' ? 'ASCENDING' : 'DESCENDING';
  return indexes.some(
    ({ collectionGroup: group, fields: [first, second, ...others] }) =>
      group === collectionGroup &&
      others.length === 0 &&
      first?.fieldPath === filter &&
      second?.fieldPath === sort.field &&
      second.order === order,
  );
}
