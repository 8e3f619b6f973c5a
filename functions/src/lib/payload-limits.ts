import type { PayloadLimit } from './errors';

/**
 * What a request body may hold, so that no body takes more than 256 MiB of memory
 * (docs/security.md#request-bodies), and the time in which a client has to send it.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** How long a client may send no byte of a body, whatever is left of its time for the whole body. */
export const BODY_IDLE_TIMEOUT_MS = 10_000;

/** For a body of a read. */
export const READ_BODY_LIMITS = { maxBytes: MIB, timeoutMs: 30_000 };

/** For a body of add price lists: what the platform lets a request have, at 1.2 Mbit/s. */
export const PRICE_LISTS_BODY_LIMITS = { maxBytes: 32 * MIB, timeoutMs: 240_000 };

/** Parsed as one value, which takes up to 45 times its size, with escapes up to 140 times. */
export const OUTSIDE_PRODUCTS_LIMIT: PayloadLimit = { scope: 'outside_products', bytes: MIB };

/** For each identifier in `products` and for each value. */
export const PRODUCT_LIMIT: PayloadLimit = { scope: 'product', bytes: 64 * KIB };
