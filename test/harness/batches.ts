/**
 * Maximum number of entries in a batch of module tests. Small batches suffice, because these tests check the order of
 * calls and what is stored. A test of the operation checks that a commit has at most 500 writes.
 */
export const TEST_BATCH = 5;
