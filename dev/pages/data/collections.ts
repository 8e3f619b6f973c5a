import { fieldOverrides, indexes } from '../../../firestore.indexes.json';
import { collections } from '../../../functions/src/lib/firestore/collections';
import type { CollectionView } from './data-source';

/** What the data pages know about the collections of the service. */

/** The collections whose documents are shown newest first by default. */
const NEWEST_FIRST: readonly string[] = [
  collections.priceListRequests,
  collections.priceLists,
  collections.expectedForwardCosts,
];

/** Adds the default order of a collection to a view without an order, if an index serves it. */
export function addDefaultSort(collection: string, view: CollectionView): CollectionView {
  const sort = { field: 'created_at', direction: 'desc' } as const;
  const isDefault = view.sort === undefined && NEWEST_FIRST.includes(collection);
  return isDefault && isServed(collection, view.filter?.field, sort) ? { ...view, sort } : view;
}

/** Returns the collection that a field refers to by its name, such as `teams` for `team_id`. It does not check that the collection exists. */
export function getLinkedCollection(field: string): string | undefined {
  if (field === 'document_id') return collections.priceListRequests;
  return field.endsWith('_id') ? field.replace(/_id$/, 's') : undefined;
}

/**
 * Returns whether an index serves a sort. With a filter, firestore.indexes.json must declare an index of exactly the
 * two fields, in the direction of the sort. Without a filter, the automatic index of the field must not be exempted.
 */
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
