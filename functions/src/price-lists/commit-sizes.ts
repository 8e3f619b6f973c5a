/** How much one commit holds. Tests that need many commits replace this module with smaller numbers. */

/** Entries in one batch (docs/api.md#behaviour-of-add-price-lists). */
export const MAX_ENTRIES_PER_COMMIT = 500;

/** Bytes of one stored chunk of a payload: a Firestore document holds at most 1 MiB, its name and field included. */
export const MAX_CHUNK_BYTES = 1_000_000;

/** Chunks in the claim's commit. Firestore limits a commit to 10 MiB, and the key record in it to 1 MiB. */
export const MAX_CLAIM_CHUNKS = 9;
