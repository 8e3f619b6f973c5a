import type { CollectionReference, DocumentReference } from 'firebase-admin/firestore';
import { collections, fields, subcollections } from '../firestore/collections';
import type { Database, Writes } from '../firestore/database';
import type { KeyLists } from '../schemas/key-record';
import type { ListDocument, PriceListDocument } from '../schemas/responses';

/** Writes the two lists of an attempt. A batch of entries can be written again, because it sets fixed values under fixed ids. */

export const LIST_COLLECTIONS = {
  expected_forward_cost: collections.expectedForwardCosts,
  price_list: collections.priceLists,
};

export type ListKind = keyof typeof LIST_COLLECTIONS;

export const LIST_KINDS = ['expected_forward_cost', 'price_list'] as const satisfies ListKind[];

export interface ListDocuments {
  expected_forward_cost: ListDocument;
  price_list: PriceListDocument;
}

export type ListIds = Pick<KeyLists, `${ListKind}_id`>;

export const listDocument = ({ firestore }: Database, kind: ListKind, lists: ListIds): DocumentReference =>
  firestore.collection(LIST_COLLECTIONS[kind]).doc(lists[`${kind}_id`]);

export const entriesCollection = (db: Database, kind: ListKind, lists: ListIds): CollectionReference =>
  listDocument(db, kind, lists).collection(subcollections.products);

/** Merges, so that a list keeps the fields that other programs add to it. */
export function setListDocuments(db: Database, writes: Writes, lists: KeyLists, documents: ListDocuments): void {
  for (const kind of LIST_KINDS) writes.set(listDocument(db, kind, lists), documents[kind], { merge: true });
}

export type Entry = readonly [productId: string, price: number];

export function writeEntryBatch(db: Database, kind: ListKind, lists: KeyLists, batch: readonly Entry[]): Promise<void> {
  const entries = entriesCollection(db, kind, lists);
  return db.commit((writes) => {
    for (const [id, price] of batch) writes.set(entries.doc(id), { [fields.entry[kind]]: price });
  });
}
