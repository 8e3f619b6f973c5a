/**
 * What an instance holds in memory at most, computed in one place:
 *
 *     the process, with its code and its connections             PROCESS_BYTES
 *     + for each open request, what does not grow with its data  REQUEST_BYTES
 *     + what grows with the data of requests                     getMaxHeldBytes, which a MemoryBudget counts
 *     = MAX_MEMORY_SHARE of the memory of the function
 *
 * `npm run bench` measures the sum for add price lists and the sweep (docs/performance.md#memory).
 */

const MIB = 1024 * 1024;

export const MEMORY_BYTES = { '512MiB': 512 * MIB, '1GiB': 1024 * MIB, '2GiB': 2048 * MIB };

export const MAX_MEMORY_SHARE = 0.6;

const PROCESS_BYTES = 111 * MIB;

/** Memory for two batches, of entries or of documents, in all the forms that they take between Firestore and the request. */
const REQUEST_BYTES = 2 * MIB;

/**
 * What each byte of a body of add price lists can take until its creation ends: 1 for the body, which only the scan needs,
 * at most 2.5 for its products, and 2 for copies, such as the compressed payload, and for garbage. A product of 59 bytes
 * takes up to 135 as a value. A character beyond Latin-1 makes each character of its identifier take two bytes.
 */
const HELD_BYTES_PER_BODY_BYTE = 5.5;

/**
 * A creation counts as at least this many bytes, so that the number of small creations is bounded too. About 1,100 of them fit at
 * once, so in practice only large creations are refused.
 */
export const MIN_HELD_BYTES = MIB;

/** Returns what a creation holds at most, from the size of its body in bytes. */
export const toHeldBytes = (bodyBytes: number): number =>
  Math.max(MIN_HELD_BYTES, bodyBytes * HELD_BYTES_PER_BODY_BYTE);

export interface FunctionMemory {
  memory: keyof typeof MEMORY_BYTES;
  concurrency: number;
}

/** Returns what all requests of an instance can hold of their data: bodies and what the service makes of them, or buffered responses. */
export const getMaxHeldBytes = ({ memory, concurrency }: FunctionMemory): number =>
  MAX_MEMORY_SHARE * MEMORY_BYTES[memory] - PROCESS_BYTES - concurrency * REQUEST_BYTES;

/** Before a body of at least this size is scanned, a line of the log names its sender. */
export const LARGE_BODY_BYTES = MIB;
