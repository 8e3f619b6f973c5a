import type { Requests, Rpc } from '../../../packages/firestore-local/src';

/**
 * Counts the documents that calls read and write, as Firestore bills them. The suites of add price lists and
 * of the audit check these figures, and docs/performance.md#costs multiplies them by prices.
 */

export interface BilledDocuments {
  reads: number;
  writes: number;
}

/**
 * A creation without renewals reads the key and the market, and the key again. The claim writes the
 * key, the request and both lists. The payload has a write for each chunk, and each product has two
 * entries. The completion writes the key and both lists.
 */
export const billCreation = (products: number, payloadChunks = 1): BilledDocuments => ({
  reads: 3,
  writes: 4 + payloadChunks + 2 * products + 3,
});

/** A replay reads the key and the market. */
export const REPLAY: BilledDocuments = { reads: 2, writes: 0 };

/** Returns the reads of an audit of keys with lists of at most 1,000 products. @param entries compared entries of each list */
export const getAuditReads = (keys: number, entries: number): number => keys * (13 + 2 * entries) + 3;

/** Counts the documents that calls read by name and that commits write. Queries are not counted. */
export function countDocuments(calls: readonly { rpc: Rpc; request: Requests[Rpc] }[]): BilledDocuments {
  const requests = calls.map(({ request }) => request);
  return {
    reads: requests.reduce((sum, each) => sum + ('documents' in each ? each.documents.length : 0), 0),
    writes: requests.reduce((sum, each) => sum + ('writes' in each ? each.writes.length : 0), 0),
  };
}
