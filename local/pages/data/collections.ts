import { collections } from '../../../functions/src/lib/firestore/collections';

/** What the data pages know of the collections of the service. */

/** The collections whose documents are shown newest first, unless a filter selects some of them. Those without `created_at` are left out. */
export const NEWEST_FIRST: readonly string[] = [
  collections.priceListRequests,
  collections.priceLists,
  collections.expectedForwardCosts,
];

/** Returns the collection that a field refers to by its name, such as `teams` for `team_id`. It does not check that the collection exists. */
export function getLinkedCollection(field: string): string | undefined {
  if (field === 'document_id') return collections.priceListRequests;
  return field.endsWith('_id') ? field.replace(/_id$/, 's') : undefined;
}
