/**
 * The limits of a request body, and of the time in which a client must send it. Within them, the bodies that an
 * instance accepts at once fit into its memory (docs/security.md#request-bodies).
 */

const MIB = 1024 * 1024;

/** How long the service waits for the next byte of a body, within the time for the whole body. */
export const BODY_IDLE_TIMEOUT_MS = 10_000;

export const READ_BODY_LIMITS = { maxBytes: MIB, timeoutMs: 30_000 };

/** The platform's maximum size, and enough time to send it at 1.2 Mbit/s. */
export const PRICE_LISTS_BODY_LIMITS = { maxBytes: 32 * MIB, timeoutMs: 240_000 };

/**
 * Returns the limit of values, as `countValues` counts them. Values take up to a hundred times the memory of their text.
 * A product has about 60 bytes or more and counts three, so a price list without unknown fields never exceeds this limit.
 */
export const getMaxValues = (maxBytes: number): number => Math.floor(maxBytes / 20);
