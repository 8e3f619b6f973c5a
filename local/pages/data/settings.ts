import type { IndexDefinitions } from '../../../packages/firestore-local/src';

/** Settings of the data pages. All are optional. */
export interface ViewerSettings {
  /** The project that the pages show. */
  readonly project?: string;
  /** The contents of each collection. The overview lists collections in this order, then the others. */
  readonly descriptions?: Readonly<Record<string, string>>;
  /** The fields that come first in a table. */
  readonly firstColumns?: readonly string[];
  /** The parsed `firestore.indexes.json`. A column cannot be sorted if it exempts the field from indexes. */
  readonly indexes?: IndexDefinitions;
  /** The collection that a field ending in `_id` refers to, if it is not the plural of the field's name. */
  readonly linkedCollections?: Readonly<Record<string, string>>;
  /** Links at the top of each page, before the one to the data: text to address. */
  readonly links?: Readonly<Record<string, string>>;
}
