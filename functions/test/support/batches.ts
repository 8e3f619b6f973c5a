import { WRITE_SIZES } from '../../src/lib/work-context';

/**
 * Maximum number of entries in a batch of module tests. Small batches suffice, because these tests check the order of
 * calls and what is stored. A test of the operation checks that a batch has 500.
 */
export const TEST_BATCH = 5;

/** Makes the operations in this process write batches of at most {@link TEST_BATCH} entries. */
export const useTestBatches = (): void => void jest.replaceProperty(WRITE_SIZES, 'batchEntries', TEST_BATCH);
