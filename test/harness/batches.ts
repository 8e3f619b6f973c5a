/**
 * Maximum number of entries in a batch of most tests. Small batches suffice, because these tests check the order of
 * calls and what is stored. A test of add price lists checks that a commit has at most 500 writes.
 */
export const TEST_BATCH = 5;
