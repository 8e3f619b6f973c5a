/** The sizes of commits. Tests replace them with smaller ones, so that a small list needs many commits. */

/** The maximum number of entries in one batch (docs/api.md#behaviour-of-add-price-lists). */
export const MAX_ENTRIES_PER_COMMIT = 500;

/** The maximum size of a payload chunk. A Firestore document holds at most 1 MiB, including its name. */
export const MAX_CHUNK_BYTES = 1_000_000;

/** The maximum number of chunks in a claim. A commit holds at most 10 MiB, and the key record can be as large as 1 MiB. */
export const MAX_CLAIM_CHUNKS = 9;
