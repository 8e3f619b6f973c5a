import type { PayloadLimit } from './errors';

/**
 * The limits of a request body, and of the time in which a client must send it. No body then takes
 * more than 256 MiB of memory (docs/security.md#request-bodies).
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** How long the service waits for the next byte of a body, within the time for the whole body. */
export const BODY_IDLE_TIMEOUT_MS = 10_000;

export const READ_BODY_LIMITS = { maxBytes: MIB, timeoutMs: 30_000 };

/** The platform's maximum size, and enough time to send it at 1.2 Mbit/s. */
export const PRICE_LISTS_BODY_LIMITS = { maxBytes: 32 * MIB, timeoutMs: 240_000 };

/** The limit of the text outside `products`, which can take 45 times its size in memory, and more with escapes. */
export const OUTSIDE_PRODUCTS_LIMIT: PayloadLimit = { scope: 'outside_products', bytes: MIB };

/** The limit of each identifier and of each value in `products`. */
export const PRODUCT_LIMIT: PayloadLimit = { scope: 'product', bytes: 64 * KIB };
