import type { Requests, Rpc } from '../../../packages/firestore-local/src';

/**
 * Documents that a call reads and writes, as Firestore bills them. The suites of the operations
 * hold the service to these figures, which docs/performance.md#costs multiplies by prices.
 */

export interface BilledDocuments {
  reads: number;
  writes: number;
}

/** One query, which bills each document of its result, and an empty result as one. */
export const billRead = (records: number): BilledDocuments => ({ reads: Math.max(1, records), writes: 0 });

/**
 * Key and market, and the key again. Written are, by the claim, the key, the request, both lists
 * and the payload; both entries of each product; and by the completion the key and both lists.
 */
export const billCreation = (products: number, payloadChunks = 1): BilledDocuments => ({
  reads: 3,
  writes: 4 + payloadChunks + 2 * products + 3,
});

/** Key and market. */
export const REPLAY: BilledDocuments = { reads: 2, writes: 0 };

/** Of keys with lists of at most 1,000 products. @param entries compared entries of each list */
export const getAuditReads = (keys: number, entries: number): number => keys * (10 + 2 * entries);

/** Documents of calls that name them: of reads by name, and of commits. */
export function countDocuments(calls: readonly { rpc: Rpc; request: Requests[Rpc] }[]): BilledDocuments {
  const requests = calls.map(({ request }) => request);
  return {
    reads: requests.reduce((sum, each) => sum + ('documents' in each ? each.documents.length : 0), 0),
    writes: requests.reduce((sum, each) => sum + ('writes' in each ? each.writes.length : 0), 0),
  };
}
