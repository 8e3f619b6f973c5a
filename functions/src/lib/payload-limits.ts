/**
 * The limits of the size of a request body, and of the time in which a client must send it. docs/performance.md#memory says how
 * many of the largest bodies an instance can hold.
 */

const MIB = 1024 * 1024;

/** How long the service waits for the next byte of a body, within the time for the whole body. */
export const BODY_IDLE_TIMEOUT_MS = 10_000;

export const READ_BODY_LIMITS = { maxBytes: MIB, timeoutMs: 30_000 };

/** The platform's maximum size, and enough time to send it at 1.2 Mbit/s. */
export const PRICE_LISTS_BODY_LIMITS = { maxBytes: 32 * MIB, timeoutMs: 240_000 };

/** Limit of the canonical JSON of a payload. Only numbers such as 1e20 make it longer than the inflated body. */
export const MAX_CANONICAL_BYTES = PRICE_LISTS_BODY_LIMITS.maxBytes;

/** The shortest product of a valid body, with its comma. */
const SHORTEST_PRODUCT = '"a":{"price_list_price":1,"expected_forward_cost_price":1},';

/** A body with more products is longer than its limit, or invalid. */
export const MAX_PRODUCTS = Math.floor(PRICE_LISTS_BODY_LIMITS.maxBytes / SHORTEST_PRODUCT.length);
