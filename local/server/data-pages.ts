import indexes from '../../firestore.indexes.json';
import type { IndexDefinitions } from '../../packages/firestore-local/src';
import type { ViewerSettings } from '../pages/data';
import { SITE_LINKS } from '../pages';
import { SAMPLE_COLLECTIONS } from '../sample/records';

/** The settings of the data pages for the collections of the service. */
export const VIEWER_SETTINGS = {
  descriptions: {
    ...SAMPLE_COLLECTIONS,
    price_lists: 'Price lists: status, and an entry per product',
    expected_forward_costs: 'Expected forward costs: status, and an entry per product',
    price_list_requests: 'Accepted requests with their payloads',
    price_list_idempotency: 'Key records: one per boq_list_id, with its attempts',
  },
  firstColumns: ['status', 'name', 'boq_list_id'],
  linkedCollections: { document_id: 'price_list_requests' },
  links: SITE_LINKS,
  indexes: indexes as IndexDefinitions,
} satisfies ViewerSettings;
