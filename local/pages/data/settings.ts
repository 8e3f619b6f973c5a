import type { IndexDefinitions } from '../../../packages/firestore-local/src';

/** What a viewer may know of the data that it shows. Everything is optional. */
export interface ViewerSettings {
  /** The project that they show, where there may be others. */
  readonly project?: string;
  /** What each collection holds; the overview lists collections in this order, the others after them. */
  readonly descriptions?: Readonly<Record<string, string>>;
  /** Fields that stand first in a table. */
  readonly firstColumns?: readonly string[];
  /** The parsed `firestore.indexes.json`: no column whose field it exempts from indexes can be sorted by. */
  readonly indexes?: IndexDefinitions;
  /** The collection that a field ending in `_id` names, where it is not the field's own name in the plural. */
  readonly linkedCollections?: Readonly<Record<string, string>>;
  /** Links at the top of each page, before the one to the data: text to address. */
  readonly links?: Readonly<Record<string, string>>;
}
