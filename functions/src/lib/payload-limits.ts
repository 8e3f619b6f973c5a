import type { PayloadLimit } from './errors';

/** What a request body may hold, so that no body takes more than 256 MiB of memory (docs/security.md#request-bodies). */

const KIB = 1024;
const MIB = 1024 * KIB;

/** For a body of a read. */
export const MAX_READ_BODY_BYTES = MIB;

/** For a body of add price lists: what the platform lets a request have. */
export const MAX_PRICE_LISTS_BODY_BYTES = 32 * MIB;

/** Parsed as one value, which takes up to 45 times its size. */
export const OUTSIDE_PRODUCTS_LIMIT: PayloadLimit = { scope: 'outside_products', bytes: MIB };

/** For each identifier in `products` and for each value. */
export const PRODUCT_LIMIT: PayloadLimit = { scope: 'product', bytes: 64 * KIB };
