/**
 * The rules of stored records, which hold at any moment and after any fault: see docs/reliability.md. Two rules,
 * `lease` and `sweep_due_at`, also require that sweeps run.
 */
export type Rule =
  | 'key_readable' // a key record can be read
  | 'key_record' // the fields of a key record fit its status
  | 'sweep_due_at' // the due time follows from the other fields, or is missing after a report; no key that requires review stays due for an hour
  | 'lease' // an attempt in progress has a lease of normal length, or one that expired a short time ago
  | 'response' // the stored response of a completed key is the one that follows from its key record
  | 'request' // an attempt has a request record with the same facts
  | 'payload' // the stored payload, unless it may have expired, has the fingerprint, the facts and the number of products of the attempt
  | 'list_document' // a list document exists, with the facts of its attempt and no other field
  | 'list_status' // the status of a list is the one that follows from the status of its attempt
  | 'entry_count' // a ready list has as many entries as products, and no list has more
  | 'entry_values' // an entry has the price of a product of the payload and no other field, and a ready list has an entry for each product
  | 'reference'; // request records, lists, entries and chunks belong to the current or a released attempt of a key

export interface Violation {
  rule: Rule;
  /** The key; null if the record belongs to no key, or is a key record without a valid `boq_list_id`. */
  boq_list_id: string | null;
  /** Path of the document, or of its subcollection. */
  path: string;
  /** Contains no text, price or product id of the payload. */
  message: string;
  /** Ids of some products with this violation. */
  products?: readonly string[];
}

export const createReporter =
  (boq_list_id: string | null, path: string) =>
  (rule: Rule, message: string): Violation => ({ rule, boq_list_id, path, message });
