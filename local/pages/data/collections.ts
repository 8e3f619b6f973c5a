import type { collections } from '../../../functions/src/lib/firestore/collections';
import { fieldOverrides } from '../../../firestore.indexes.json';
import { SAMPLE_COLLECTIONS } from '../../sample/records';

/** What the data pages know of the collections of the service. */

/** The contents of each collection. The overview lists these collections first, in this order. */
export const DESCRIPTIONS: Readonly<Record<(typeof collections)[keyof typeof collections], string>> = {
  ...SAMPLE_COLLECTIONS,
  price_lists: 'Price lists: status, and an entry per product',
  expected_forward_costs: 'Expected forward costs: status, and an entry per product',
  price_list_requests: 'Accepted requests with their payloads',
  price_list_idempotency: 'Key records: one per boq_list_id, with its attempts',
};

/** The fields that come first in a table. */
export const FIRST_COLUMNS = ['status', 'name', 'boq_list_id'];

/** Returns the collection whose document a field such as `team_id` names, if the field names one. */
export function getLinkedCollection(field: string): string | undefined {
  if (field === 'document_id') return 'price_list_requests';
  return field.endsWith('_id') ? field.replace(/_id$/, 's') : undefined;
}

/** Whether an index serves the order by a field: Firestore indexes each field that firestore.indexes.json does not exempt. */
export const isIndexed = (collectionGroup: string, field: string): boolean =>
  !fieldOverrides.some((each) => each.collectionGroup === collectionGroup && each.fieldPath === field);
